// A llama2.c checkpoint: the header, then the first and last element of every tensor.
#include "attnscope/checkpoint/llama2c.h"

#include <cstdint>

#include "attnscope/base/error.h"
#include "attnscope/tensor/decode.h"

using namespace attnscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const FileContents file = parse_llama2c(std::as_bytes(std::span(data, size)), "input");
    for (const NamedTensor& tensor : file.tensors) {
      float value = 0;
      decode_elements(tensor.view, 0, 1, 1, &value);
      decode_elements(tensor.view, tensor.view.element_count() - 1, 1, 1, &value);
    }
  } catch (const Error&) {
  }
  return 0;
}
