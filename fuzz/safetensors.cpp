// The header of a safetensors file, then every tensor that it declares.
#include "attnscope/checkpoint/safetensors.h"

#include <cstdint>

#include "attnscope/base/error.h"
#include "attnscope/tensor/tensor_matrix.h"

using namespace attnscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const FileContents file = parse_safetensors(std::as_bytes(std::span(data, size)), "input");
    for (const NamedTensor& tensor : file.tensors) {
      const TensorView& view = tensor.view;
      const auto bits = static_cast<std::uint64_t>(dtype_info(view.dtype).bits);
      if (static_cast<std::uint64_t>(view.element_count()) * bits != view.bytes.size() * 8) {
        __builtin_trap();  // the size in bytes contradicts the shape
      }
      const bool real = dtype_info(view.dtype).kind == DTypeClass::real;
      if (real && view.shape.size() == 2) decode_exact(whole_matrix(view));
    }
  } catch (const Error&) {
  }
  return 0;
}
