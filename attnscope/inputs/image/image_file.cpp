#include "attnscope/inputs/image/image_file.h"

#include <algorithm>
#include <optional>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"

namespace attnscope {
namespace {

using namespace std::string_view_literals;

/// Reads numbers of a TIFF file, in the file's byte order.
class TiffReader {
 public:
  explicit TiffReader(std::string_view bytes) : bytes_(bytes), big_(bytes.starts_with("MM")) {}

  std::optional<std::uint32_t> number(std::size_t at, std::size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) return std::nullopt;
    std::uint32_t value = 0;
    for (std::size_t byte = 0; byte < size; ++byte) {
      const std::size_t from = at + (big_ ? byte : size - 1 - byte);
      value = value << 8 | static_cast<std::uint8_t>(bytes_[from]);
    }
    return value;
  }

 private:
  std::string_view bytes_;
  bool big_;
};

/// Returns the position in the stored image of a pixel of the upright image. Source: EXIF 2.32, tag
/// 0x0112.
RgbImage turned(const RgbImage& stored, int orientation) {
  const bool swaps = orientation >= 5;  // rows become columns
  const bool flips_rows =
      orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
  const bool flips_cols =
      orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
  RgbImage out{.rows = swaps ? stored.cols : stored.rows,
               .cols = swaps ? stored.rows : stored.cols,
               .rgb = std::vector<std::uint8_t>(stored.rgb.size()),
               .clipped = stored.clipped};
  for (std::int64_t row = 0; row < out.rows; ++row) {
    std::uint8_t* to = out.row(row);
    for (std::int64_t col = 0; col < out.cols; ++col) {
      const std::int64_t upright_row = flips_rows ? out.rows - 1 - row : row;
      const std::int64_t upright_col = flips_cols ? out.cols - 1 - col : col;
      const std::uint8_t* from = swaps ? stored.row(upright_col) + 3 * upright_row
                                       : stored.row(upright_row) + 3 * upright_col;
      to = std::copy_n(from, 3, to);
    }
  }
  return out;
}

}  // namespace

void refuse_image_file(const std::string& where, const std::string& problem,
                       const std::string& hint) {
  throw Error(ErrorKind::format, {.file = where, .problem = problem, .hint = hint});
}

void check_image_size(std::uint64_t rows, std::uint64_t cols, const std::string& where) {
  if (rows == 0 || cols == 0) refuse_image_file(where, "has no pixels");
  const auto side = static_cast<std::uint64_t>(kMaxImageSide);
  const auto pixels = static_cast<std::uint64_t>(kMaxImagePixels);
  if (rows <= side && cols <= side && rows * cols <= pixels) return;
  throw Error(ErrorKind::unsupported,
              {.file = where,
               .problem = "has " + std::to_string(cols) + " × " + std::to_string(rows) +
                          " pixels, above the limit of " + std::to_string(kMaxImagePixels),
               .hint = "reduce the size of the image"});
}

int exif_orientation(std::string_view tiff) {
  constexpr std::uint32_t kOrientation = 0x0112, kShort = 3;
  constexpr std::size_t kEntryBytes = 12;
  if (tiff.starts_with("Exif\0\0"sv)) tiff.remove_prefix(6);
  if (!tiff.starts_with("II*\0"sv) && !tiff.starts_with("MM\0*"sv)) return 1;
  const TiffReader reader(tiff);
  const std::size_t directory = reader.number(4, 4).value_or(0);
  const std::size_t entries = reader.number(directory, 2).value_or(0);
  for (std::size_t entry = 0; entry < entries; ++entry) {
    const std::size_t at = directory + 2 + entry * kEntryBytes;
    const auto tag = reader.number(at, 2);
    if (!tag) break;
    if (*tag != kOrientation || reader.number(at + 2, 2) != kShort) continue;
    const std::uint32_t value = reader.number(at + 8, 2).value_or(1);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

RgbImage read_rgb_image(std::string_view bytes, const std::string& where) {
  StoredImage stored;
  if (bytes.starts_with("\x89PNG\r\n\x1a\n"sv)) {
    stored = read_png(bytes, where);
  } else if (bytes.starts_with("\xff\xd8\xff"sv)) {
    stored = read_jpeg(bytes, where);
  } else {
    refuse_image_file(where, bytes.empty() ? "is empty" : "is neither a PNG nor a JPEG image",
                      "save the image as PNG or JPEG");
  }
  return stored.orientation == 1 ? std::move(stored.rgb_image)
                                 : turned(stored.rgb_image, stored.orientation);
}

}  // namespace attnscope
