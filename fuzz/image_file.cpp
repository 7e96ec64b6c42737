// Images: any file gives exactly the pixels of its declared size, or one clear error.
#include "attnscope/inputs/image/image_file.h"

#include <cstdint>

#include "attnscope/base/error.h"

using namespace attnscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const int orientation = exif_orientation(bytes);
  if (orientation < 1 || orientation > 8) __builtin_trap();
  try {
    const RgbImage rgb_image = read_rgb_image(bytes, "input");
    if (std::ssize(rgb_image.rgb) != rgb_image.rows * rgb_image.cols * 3) __builtin_trap();
  } catch (const Error&) {
  }
  return 0;
}
