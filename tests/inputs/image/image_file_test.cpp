#include "attnscope/inputs/image/image_file.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "attnscope/inputs/npy_reader.h"
#include "tests/support/expect_error.h"

namespace attnscope {
namespace {

const std::filesystem::path kFolder =
    std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/data/images";

std::string file_of(const std::string& name) {
  std::ostringstream out;
  out << std::ifstream(kFolder / name, std::ios::binary).rdbuf();
  return out.str();
}

std::string big_endian(std::uint32_t value) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
  return out;
}

std::string chunk(const std::string& kind, const std::string& data) {
  const std::string both = kind + data;
  const auto sum =
      crc32(0, reinterpret_cast<const Bytef*>(both.data()), static_cast<uInt>(both.size()));
  return big_endian(static_cast<std::uint32_t>(data.size())) + both +
         big_endian(static_cast<std::uint32_t>(sum));
}

/// A PNG that declares this size but contains no pixels.
std::string png_of(std::uint32_t cols, std::uint32_t rows) {
  return "\x89PNG\r\n\x1a\n" +
         chunk("IHDR", big_endian(cols) + big_endian(rows) + std::string("\x08\x02\0\0\0", 5)) +
         chunk("IDAT", "no pixels") + chunk("IEND", "");
}

TEST(ImageFile, RejectsUntrustedFiles) {
  const std::string jpeg = file_of("tall.jpg"), png = file_of("odd.png");
  const struct {
    const char* fault;
    std::string bytes;
    ErrorKind kind;
    const char* says;
  } cases[] = {
      {"empty", "", ErrorKind::format, "is empty"},
      {"another format", "GIF89a", ErrorKind::format, "neither a PNG nor a JPEG"},
      {"a cut PNG", png.substr(0, png.size() / 2), ErrorKind::format, "is truncated"},
      {"a PNG's header alone", png.substr(0, 12), ErrorKind::format, "damaged PNG"},
      {"a cut JPEG", jpeg.substr(0, jpeg.size() / 2), ErrorKind::format, "damaged JPEG"},
      {"a JPEG's header alone", jpeg.substr(0, 40), ErrorKind::format, "damaged JPEG"},
      {"10^10 pixels", png_of(100'000, 100'000), ErrorKind::unsupported, "above the limit"},
      {"one long line", png_of(2'000'000'000, 1), ErrorKind::unsupported, "above the limit"},
      {"CMYK", file_of("four-inks.jpeg"), ErrorKind::format, "CMYK"},
      {"no pixels", png_of(0, 4), ErrorKind::format, "damaged PNG"},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(each.fault);
    EXPECT_ERROR_SAYING(each.kind, read_rgb_image(each.bytes, "file"), each.says);
  }
}

TEST(ImageFile, ReadsTheExifOrientation) {
  const auto tiff = [](const std::string& order, const std::string& offset,
                       const std::string& count,
                       const std::string& entry) { return order + offset + count + entry; };
  const std::string little =
      tiff(std::string("II*\0", 4), std::string("\x08\0\0\0", 4), std::string("\x01\0", 2),
           std::string("\x12\x01\x03\0\x01\0\0\0\x06\0\0\0", 12));
  EXPECT_EQ(exif_orientation(little), 6);
  EXPECT_EQ(exif_orientation(std::string("Exif\0\0", 6) + little), 6);
  const std::string big =
      tiff(std::string("MM\0*", 4), std::string("\0\0\0\x08", 4), std::string("\0\x01", 2),
           std::string("\x01\x12\0\x03\0\0\0\x01\0\x03\0\0", 12));
  EXPECT_EQ(exif_orientation(big), 3);
  EXPECT_EQ(exif_orientation(little.substr(0, 12)), 1);  // truncated
  EXPECT_EQ(exif_orientation(""), 1);
  std::string far = little;
  far[4] = '\xff', far[7] = '\xff';  // a directory beyond the end of the data
  EXPECT_EQ(exif_orientation(far), 1);
}

std::string npy_of(const std::string& header, const std::string& values) {
  return std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) + '\0' + header +
         values;
}

TEST(NpyArray, ReadsValuesAndRejectsOthers) {
  const std::string four(16, '\0');
  const MediaInput read =
      read_npy(npy_of("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }", four), "file");
  EXPECT_EQ(read.shape, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(read.values.size(), 4U);
  const struct {
    const char* header;
    const char* says;
  } cases[] = {
      {"{'descr': '<i4', 'fortran_order': False, 'shape': (2, 2), }", "float32"},
      {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }", "row-major"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
       "its shape [2, 3] requires 24 bytes, but it has 16 bytes"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 4), }", "shape"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", "16 bytes"},
      {"{'descr': '<f4', 'shape': (4,), }", "the order of its values"},
      {"{}", "float32"},
  };
  for (const auto& each : cases) {
    EXPECT_ERROR_SAYING(ErrorKind::format, read_npy(npy_of(each.header, four), "file"), each.says);
  }
  EXPECT_ERROR_SAYING(ErrorKind::format, read_npy("\x93NUMPX", "file"), "does not begin");
}

}  // namespace
}  // namespace attnscope
