// An archive of NumPy arrays, then every array.
#include "attnscope/checkpoint/npz.h"

#include "fuzz/file_contents.h"

using namespace attnscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check_contents([&] { return parse_npz(std::as_bytes(std::span(data, size)), "input"); });
  return 0;
}
