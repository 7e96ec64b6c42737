// The safetensors format: 8 bytes of header length, a JSON header, the tensors' bytes.
// Source: huggingface/safetensors, README.md and safetensors/src/tensor.rs.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/tensor/tensor_view.h"

namespace attnscope {

struct NamedTensor {
  std::string name;
  TensorView view;
};

struct SafetensorsFile {
  std::vector<NamedTensor> tensors;             // in the order of their bytes
  std::map<std::string, std::string> metadata;  // `__metadata__`
};

/// Checks the whole header before any tensor is believed: sizes, exact cover of the file without
/// holes or overlaps, dtypes, duplicate names. Views point into `file`.
/// Throws Error(format) with the file's `name` and the fault.
SafetensorsFile parse_safetensors(std::span<const std::byte> file, std::string_view name);

}  // namespace attnscope
