// NumPy arrays: the number of values must match the shape.
#include "attnscope/inputs/npy_reader.h"

#include <cstdint>

#include "attnscope/base/error.h"

using namespace attnscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const MediaInput media_input =
        read_npy(std::string_view(reinterpret_cast<const char*>(data), size), "input");
    std::int64_t count = 1;
    for (const std::int64_t axis : media_input.shape) count *= axis;
    if (count != std::ssize(media_input.values)) __builtin_trap();
  } catch (const Error&) {
  }
  return 0;
}
