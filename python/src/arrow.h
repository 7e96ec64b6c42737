// Export of columns to other libraries in this process through the Arrow C data interface.
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

/// Capsules for __arrow_c_schema__ and __arrow_c_stream__. The stream has one batch. Its buffers
/// share the memory of `columns` and keep it alive.
nanobind::capsule arrow_schema(const Columns& columns);
nanobind::capsule arrow_stream(std::shared_ptr<const Columns> columns);

}  // namespace attnscope::python
