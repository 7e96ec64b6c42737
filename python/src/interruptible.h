// Work of the library while Python waits for it.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <stop_token>

#include "attnscope/engine/progress.h"

namespace attnscope::python {

/// What work is told of who waits for it.
struct Waiter {
  std::stop_token stop;
  ProgressFn on_progress;
};

/// On which thread work is done. One that stays serves all such work of the calling thread: memory
/// that numerics keep by thread is then made once, not for each of many small pieces of work.
enum class WorkThread { own, stays };

/// Runs `work` on another thread, without the interpreter's lock; throws what it throws. The
/// calling thread waits, calls `show_progress` (unless it is None) some times a second with the
/// fields of Progress, and looks for signals. Where a signal's handler or that call raises, work is
/// asked to stop, and the exception goes on within a second: work that has not stopped by then is
/// left alone. So `work` owns all that it uses, but for `kept`, which is then kept for good.
void run_interruptibly(std::function<void(const Waiter&)> work,
                       const nanobind::object& show_progress,
                       nanobind::object kept = nanobind::none(),
                       WorkThread where = WorkThread::own);

}  // namespace attnscope::python
