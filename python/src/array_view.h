// Views of arrays from any library that supports DLPack.
#pragma once

#include <nanobind/ndarray.h>

#include <memory>
#include <vector>

#include "attnscope/tensor/tensor_view.h"

namespace attnscope::python {

using AnyArray = nanobind::ndarray<nanobind::ro, nanobind::device::cpu>;

/// Converts a Python object to an array in CPU memory. Throws TypeError.
AnyArray array_of(nanobind::handle object);

/// Returns a view of the array without a copy. It is valid as long as the array exists. Throws
/// ValueError for dtypes that checkpoints cannot have, and for negative strides.
TensorView view_of(const AnyArray& array);

/// Keeps Python arrays alive. They can be released on any thread, which then takes the GIL. That
/// thread must not hold a lock that a thread with the GIL may wait for.
std::shared_ptr<const void> owned_by_library(std::vector<AnyArray> arrays);

}  // namespace attnscope::python
