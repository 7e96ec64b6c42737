// One matrix's work in parts, for threads that have no matrix of their own. How the work is cut
// never depends on who does it, so that results do not depend on the number of threads.
#pragma once

#include <cstddef>
#include <functional>

namespace attnscope {

/// Calls part(0) … part(count − 1), each once, on this thread and on those that are lent.
/// Returns when all are done; throws what a part threw.
void run_parts(std::size_t count, const std::function<void(std::size_t)>& part);

/// Lends the calling thread to every run_parts until done() holds, which is asked again after each
/// call of recall_lent_threads().
void lend_thread(const std::function<bool()>& done);
void recall_lent_threads();

}  // namespace attnscope
