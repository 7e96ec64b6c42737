// Library calls that Python waits for and can interrupt.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <stop_token>

#include "attnscope/engine/progress.h"

namespace attnscope::python {

/// How work communicates with the thread that waits for it.
struct Waiter {
  std::stop_token stop;
  ProgressFn on_progress;
};

/// The thread that runs the work. `stays`: one helper thread for all such work of the calling
/// thread, so that thread-local buffers of the numerics are allocated only once.
enum class WorkThread { own, stays };

/// Runs `work` on another thread without the GIL, and rethrows what it throws. Meanwhile the
/// calling thread checks for signals and calls `show_progress` (unless None) several times per
/// second with the fields of Progress. If a signal handler or that call raises, the work is asked
/// to stop and the exception propagates within a second. Work that has not stopped by then is
/// abandoned. Therefore `work` must own everything that it uses, except `kept`, which is then
/// leaked.
void run_interruptibly(std::function<void(const Waiter&)> work,
                       const nanobind::object& show_progress,
                       nanobind::object kept = nanobind::none(),
                       WorkThread where = WorkThread::own);

}  // namespace attnscope::python
