// A --layout file, then the model that it describes.
#include <cstdint>

#include "attnscope/base/error.h"
#include "attnscope/model/layout/layout_file.h"
#include "fuzz/tiny_model.h"

using namespace attnscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    fuzz::use(parse_layout({reinterpret_cast<const char*>(data), size}, "input"));
  } catch (const Error&) {
  }
  return 0;
}
