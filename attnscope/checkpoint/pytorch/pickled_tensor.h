// Tensors as torch's pickles describe them.
// Source: pytorch/pytorch, torch/_utils.py and torch/serialization.py.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "attnscope/checkpoint/byte_reader.h"
#include "attnscope/checkpoint/pytorch/pickle.h"
#include "attnscope/tensor/tensor_view.h"

namespace attnscope {

/// A stretch of memory that tensors share, kept apart from the pickle under a key.
struct PickledStorage {
  std::string_view key;
  std::uint64_t count = 0;          // its elements
  std::uint64_t element_bytes = 1;  // 1 where the storage has no type of its own
  std::optional<DType> dtype;       // of its elements; none where there is no such DType
  /// In elements: older files keep several storages under one key.
  std::uint64_t first = 0;
  std::uint64_t kept_count = 0;  // of all that is under the key
};

/// Element (a, b, …) is the storage's element offset + a * strides[0] + b * strides[1] + …
struct PickledTensor {
  PickledStorage storage;
  std::optional<DType> dtype;
  std::uint64_t offset = 0;
  Shape shape;
  Shape strides;
  std::string left_out;  // why its values cannot be read ("it is sparse"); empty where they can
};

/// Whether the value is a tensor, or a parameter that wraps one.
bool is_tensor(const Pickle& pickle, PickleRef value);

/// Of a value that is one. `where` names the tensor. Throws Error(format) for a description that
/// torch could not have written; whether its storage holds so much is not known here.
PickledTensor describe_tensor(const Pickle& pickle, PickleRef value, const FilePlace& where);

/// The storage that a persistent id means; none for other ids.
std::optional<PickledStorage> describe_storage(const Pickle& pickle, const PickleNode& persistent,
                                               const FilePlace& where);

}  // namespace attnscope
