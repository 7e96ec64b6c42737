// Checks what a reader returns for any bytes.
#pragma once

#include <cstdint>

#include "attnscope/base/error.h"
#include "attnscope/checkpoint/file_formats.h"
#include "attnscope/tensor/tensor_matrix.h"

namespace attnscope {

/// Stops the program if the size of a tensor contradicts its shape. Decodes every matrix. `read`
/// may throw Error.
template <class Read>
void check_contents(Read read) {
  try {
    const FileContents file = read();
    for (const NamedTensor& tensor : file.tensors) {
      const TensorView& view = tensor.view;
      const auto bits = static_cast<std::uint64_t>(dtype_info(view.dtype).bits);
      if (static_cast<std::uint64_t>(view.element_count()) * bits != view.bytes.size() * 8) {
        __builtin_trap();
      }
      const bool real = dtype_info(view.dtype).kind == DTypeClass::real;
      if (real && view.shape.size() == 2) decode_exact(whole_matrix(view));
    }
  } catch (const Error&) {
  }
}

}  // namespace attnscope
