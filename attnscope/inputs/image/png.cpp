// The only user of libpng. libpng reports errors with longjmp, so code after a setjmp() here must
// not own anything.
#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>

#include "attnscope/base/text.h"
#include "attnscope/inputs/image/image_file.h"

namespace attnscope {
namespace {

struct PngFile {
  std::string_view rest;
  std::array<char, 128> problem = {};
  png_structp png = nullptr;
  png_infop info = nullptr;

  PngFile() = default;
  PngFile(const PngFile&) = delete;
  PngFile& operator=(const PngFile&) = delete;
  ~PngFile() { png_destroy_read_struct(&png, &info, nullptr); }
};

void on_png_error(png_structp png, png_const_charp text) {
  auto* file = static_cast<PngFile*>(png_get_error_ptr(png));
  std::strncpy(file->problem.data(), text, file->problem.size() - 1);
  png_longjmp(png, 1);
}

void on_png_warning(png_structp, png_const_charp) {}

void read_png_bytes(png_structp png, png_bytep to, std::size_t count) {
  auto* file = static_cast<PngFile*>(png_get_io_ptr(png));
  if (count > file->rest.size()) png_error(png, "the file is truncated");
  std::memcpy(to, file->rest.data(), count);
  file->rest.remove_prefix(count);
}

/// Reads everything before the pixels. False: `problem` contains the reason.
bool read_header(PngFile& file) {
  if (setjmp(png_jmpbuf(file.png)) != 0) return false;
  png_set_read_fn(file.png, &file, read_png_bytes);
  png_set_benign_errors(file.png, 1);
  png_set_chunk_malloc_max(file.png, 8'000'000);
  // our messages are more specific
  png_set_user_limits(file.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_read_info(file.png, file.info);
  return true;
}

/// Converts to 8 bits each of red, green and blue; `raw`: without conversion.
bool read_rows(PngFile& file, bool raw, png_bytepp rows) {
  if (setjmp(png_jmpbuf(file.png)) != 0) return false;
  if (!raw) {
    png_set_expand(file.png);
    png_set_strip_16(file.png);
    png_set_strip_alpha(file.png);
    png_set_gray_to_rgb(file.png);
  }
  png_read_update_info(file.png, file.info);
  png_read_image(file.png, rows);
  png_read_end(file.png, file.info);
  return true;
}

/// 16-bit grayscale, the upper byte first.
void clip_gray(const std::vector<std::uint8_t>& wide, RgbImage& rgb_image) {
  for (std::size_t at = 0; at < wide.size(); at += 2) {
    const std::uint8_t gray = wide[at] > 0 ? 255 : wide[at + 1];
    rgb_image.clipped = rgb_image.clipped || wide[at] > 0;
    std::fill_n(rgb_image.rgb.begin() + static_cast<std::ptrdiff_t>(at / 2 * 3), 3, gray);
  }
}

[[noreturn]] void refuse_png(const PngFile& file, const std::string& where) {
  refuse_image_file(where, "is a damaged PNG image: " + printable(file.problem.data()));
}

}  // namespace

StoredImage read_png(std::string_view bytes, const std::string& where) {
  PngFile file;
  file.rest = bytes;
  file.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &file, on_png_error, on_png_warning);
  if (file.png == nullptr) throw std::bad_alloc();
  file.info = png_create_info_struct(file.png);
  if (file.info == nullptr) throw std::bad_alloc();
  if (!read_header(file)) refuse_png(file, where);

  const auto rows = png_get_image_height(file.png, file.info);
  const auto cols = png_get_image_width(file.png, file.info);
  check_image_size(rows, cols, where);
  StoredImage out;
  out.rgb_image = {.rows = rows, .cols = cols, .rgb = {}};
  out.rgb_image.rgb.resize(std::size_t{rows} * cols * 3);
  const bool wide_gray = png_get_bit_depth(file.png, file.info) == 16 &&
                         png_get_color_type(file.png, file.info) == PNG_COLOR_TYPE_GRAY;
  std::vector<std::uint8_t> wide(wide_gray ? std::size_t{rows} * cols * 2 : 0);
  std::vector<png_bytep> lines(rows);
  for (std::size_t row = 0; row < lines.size(); ++row) {
    lines[row] = wide_gray ? wide.data() + row * cols * 2
                           : out.rgb_image.row(static_cast<std::int64_t>(row));
  }
  if (!read_rows(file, wide_gray, lines.data())) refuse_png(file, where);
  if (wide_gray) clip_gray(wide, out.rgb_image);
  png_bytep exif = nullptr;
  png_uint_32 exif_bytes = 0;
  if (png_get_eXIf_1(file.png, file.info, &exif_bytes, &exif) != 0) {
    out.orientation = exif_orientation({reinterpret_cast<const char*>(exif), exif_bytes});
  }
  return out;
}

}  // namespace attnscope
