// Reports from Python objects, for unpickling.
#pragma once

#include <nanobind/nanobind.h>

#include "attnscope/rows/sink.h"

namespace attnscope::python {

/// Reads the entries of Report.state: command, models, parameters, rows, skipped and notes. They
/// are untrusted: throws TypeError, ValueError or KeyError.
Report report_of_state(const nanobind::dict& state);

}  // namespace attnscope::python
