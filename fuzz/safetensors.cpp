// The header of a safetensors file, then every tensor that it declares.
#include "attnscope/checkpoint/safetensors.h"

#include "fuzz/file_contents.h"

using namespace attnscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check_contents([&] { return parse_safetensors(std::as_bytes(std::span(data, size)), "input"); });
  return 0;
}
