// An ONNX model, then every initializer.
#include "attnscope/checkpoint/onnx.h"

#include "fuzz/file_contents.h"

using namespace attnscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check_contents([&] { return parse_onnx(std::as_bytes(std::span(data, size)), "input"); });
  return 0;
}
