// Columns for other programs of the process, as the Arrow C data interface has them.
// Source: https://arrow.apache.org/docs/format/CDataInterface.html and PyCapsuleInterface.html.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "python/src/columns.h"

namespace attnscope::python {

using Columns = std::vector<std::pair<std::string, Column>>;

/// Capsules as __arrow_c_schema__ and __arrow_c_stream__ give them: a stream of one batch, whose
/// buffers are those of `columns` and keep them alive.
nanobind::capsule arrow_schema(const Columns& columns);
nanobind::capsule arrow_stream(std::shared_ptr<const Columns> columns);

}  // namespace attnscope::python
