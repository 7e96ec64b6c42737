// Pictures: PNG and JPEG files as pixels.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

struct RgbImage {
  std::int64_t rows = 0, cols = 0;
  std::vector<std::uint8_t> rgb;  // (rows, cols, 3)
  bool clipped = false;           // grey of 16 bits was more than 255 somewhere

  std::uint8_t* row(std::int64_t at) { return rgb.data() + at * cols * 3; }
  const std::uint8_t* row(std::int64_t at) const { return rgb.data() + at * cols * 3; }
};

/// Larger ones are refused before anything is allocated for their pixels.
inline constexpr std::int64_t kMaxImageSide = 65'000, kMaxImagePixels = 100'000'000;

/// The pixels as Pillow's convert("RGB") gives them: grey repeated, alpha dropped, of 16 bits the
/// upper 8, but grey of 16 bits cut at 255; turned as EXIF's orientation says. `where` names the
/// file. Throws Error(format) for what is no PNG or JPEG, is cut or broken, or has four inks
/// (CMYK), Error(unsupported) for a picture over the limits.
RgbImage read_rgb_image(std::string_view bytes, const std::string& where);

// For read_rgb_image(): pixels as they lie in the file.
struct StoredImage {
  RgbImage rgb_image;
  int orientation = 1;  // EXIF's
};
StoredImage read_png(std::string_view bytes, const std::string& where);
StoredImage read_jpeg(std::string_view bytes, const std::string& where);

/// The orientation that a block of EXIF (a TIFF file) names, from 1 to 8; 1 where it names none.
int exif_orientation(std::string_view tiff);

/// Throws as read_rgb_image().
void check_image_size(std::uint64_t rows, std::uint64_t cols, const std::string& where);
[[noreturn]] void refuse_image_file(const std::string& where, const std::string& problem,
                                    const std::string& hint = "");

}  // namespace attnscope
