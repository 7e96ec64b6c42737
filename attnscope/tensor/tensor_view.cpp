#include "attnscope/tensor/tensor_view.h"

namespace attnscope {

std::vector<std::span<const std::byte>> all_bytes(const TensorView& tensor) {
  if (tensor.source == nullptr) return {tensor.bytes};
  return tensor.source->reads(0, tensor.rows(), 0, tensor.cols());
}

std::string storage_text(const TensorView& tensor) {
  std::string text(tensor.storage_name());
  if (tensor.source != nullptr) text += " as " + std::string(dtype_name(tensor.dtype));
  return text;
}

std::uint64_t stored_bytes(const TensorView& tensor) {
  std::uint64_t total = 0;
  for (const auto& part : all_bytes(tensor)) total += part.size();
  return total;
}

}  // namespace attnscope
