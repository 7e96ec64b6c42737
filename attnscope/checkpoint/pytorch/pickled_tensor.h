// Tensors as described by torch's pickles. Source: pytorch/pytorch, torch/_utils.py and
// torch/serialization.py.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "attnscope/checkpoint/byte_reader.h"
#include "attnscope/checkpoint/pytorch/pickle.h"
#include "attnscope/tensor/tensor_view.h"

namespace attnscope {

/// A block of memory that tensors may share, stored outside the pickle under a key.
struct PickledStorage {
  std::string_view key;
  std::uint64_t count = 0;          // number of elements
  std::uint64_t element_bytes = 1;  // 1 if the storage has no element type
  std::optional<DType> dtype;       // of its elements; none if no DType fits
  /// The first element of this storage under the key, because older files store several storages
  /// under one key.
  std::uint64_t first = 0;
  std::uint64_t kept_count = 0;  // number of all elements under the key
};

/// Element (a, b, …) is the storage's element offset + a * strides[0] + b * strides[1] + …
struct PickledTensor {
  PickledStorage storage;
  std::optional<DType> dtype;
  std::uint64_t offset = 0;
  Shape shape;
  Shape strides;
  std::string skipped;  // why its values cannot be read ("it is sparse"); empty if they can
};

/// Whether the value is a tensor, or a parameter that wraps one.
bool is_tensor(const Pickle& pickle, PickleRef value);

/// Describes a value for which is_tensor() is true. `where` names the tensor. Throws Error(format)
/// for a description that torch could not have written. Does not check the storage's size.
PickledTensor describe_tensor(const Pickle& pickle, PickleRef value, const FileLocation& where);

/// Returns the storage that a persistent id refers to; none for other ids.
std::optional<PickledStorage> describe_storage(const Pickle& pickle, const PickleNode& persistent,
                                               const FileLocation& where);

}  // namespace attnscope
