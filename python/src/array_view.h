// Arrays of any library that speaks DLPack, as the library's tensors.
#pragma once

#include <nanobind/ndarray.h>

#include <memory>
#include <vector>

#include "attnscope/tensor/tensor_view.h"

namespace attnscope::python {

using AnyArray = nanobind::ndarray<nanobind::ro, nanobind::device::cpu>;

/// What Python gives as an array in this machine's memory. Throws TypeError.
AnyArray array_of(nanobind::handle object);

/// The array as it lies in memory, good as long as the array is kept. Throws ValueError for types
/// that checkpoints do not have, and for negative strides.
TensorView view_of(const AnyArray& array);

/// Keeps arrays of Python's, and lets them go where that may be done: on any thread, which must not
/// hold what a thread with the interpreter's lock may wait for.
std::shared_ptr<const void> owned_by_library(std::vector<AnyArray> arrays);

}  // namespace attnscope::python
