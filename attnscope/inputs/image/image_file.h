// Image files: decodes PNG and JPEG to pixels.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

struct RgbImage {
  std::int64_t rows = 0, cols = 0;
  std::vector<std::uint8_t> rgb;  // (rows, cols, 3)
  bool clipped = false;           // some value of a 16-bit grayscale image was above 255

  std::uint8_t* row(std::int64_t at) { return rgb.data() + at * cols * 3; }
  const std::uint8_t* row(std::int64_t at) const { return rgb.data() + at * cols * 3; }
};

/// Larger images are rejected before memory for their pixels is allocated.
inline constexpr std::int64_t kMaxImageSide = 65'000, kMaxImagePixels = 100'000'000;

/// Returns the pixels of Pillow's convert("RGB"). Gray is repeated and alpha dropped. Of 16 bits,
/// the upper 8 are kept, but 16-bit grayscale is clipped at 255. The image is rotated as EXIF's
/// orientation specifies. `where` names the file. Throws Error(format) for files that are not PNG
/// or JPEG, are truncated or damaged, or have four color channels (CMYK). Throws Error(unsupported)
/// for an image above the size limits.
RgbImage read_rgb_image(std::string_view bytes, const std::string& where);

// For read_rgb_image(): pixels in the order of the file.
struct StoredImage {
  RgbImage rgb_image;
  int orientation = 1;  // EXIF orientation
};
StoredImage read_png(std::string_view bytes, const std::string& where);
StoredImage read_jpeg(std::string_view bytes, const std::string& where);

/// Returns the orientation in a block of EXIF (a TIFF file), from 1 to 8; 1 if it specifies none.
int exif_orientation(std::string_view tiff);

/// Throws the errors of read_rgb_image().
void check_image_size(std::uint64_t rows, std::uint64_t cols, const std::string& where);
[[noreturn]] void refuse_image_file(const std::string& where, const std::string& problem,
                                    const std::string& hint = "");

}  // namespace attnscope
