#include "attnscope/page/encoding.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "attnscope/base/text_encoding.h"

namespace attnscope {
namespace {

/// The contents of a gzip file, decompressed with zlib.
std::string unpacked(const std::string& file, std::size_t size) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  std::string out(size + 1, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(file.data()));
  stream.avail_in = static_cast<uInt>(file.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  inflateEnd(&stream);
  return out;
}

TEST(Gzip, RoundTrips) {
  std::string mixed;
  for (std::uint32_t i = 0, x = 1; i < 300'000; ++i, x = x * 1664525 + 1013904223) {
    mixed += static_cast<char>(i % 3 == 0 ? x >> 24 : i >> 8);
  }
  for (const std::string& text :
       {std::string(), std::string("a"), std::string(100'000, 'x'), mixed}) {
    EXPECT_EQ(unpacked(gzip(text), text.size()), text);
  }
  EXPECT_LT(gzip(std::string(100'000, 'x')).size(), 500U);
}

TEST(Base64, EncodesTheTestVectorsOfRfc4648) {
  // RFC 4648, section 10.
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [text, encoded] : vectors) EXPECT_EQ(base64(text), encoded);
  EXPECT_EQ(base64(std::string("\0\xFF\x80", 3)), "AP+A");
}

TEST(BytePlanes, GroupBytesOfTheSamePosition) {
  const std::vector<float> numbers = {1.0F, -2.5F, 3e-20F};
  const std::string planes = byte_planes(numbers);
  ASSERT_EQ(planes.size(), 12U);
  for (std::size_t at = 0; at < numbers.size(); ++at) {
    char bytes[4];
    for (std::size_t plane = 0; plane < 4; ++plane) bytes[plane] = planes[3 * plane + at];
    float back = 0;
    std::memcpy(&back, bytes, 4);
    EXPECT_EQ(back, numbers[at]);
  }
}

TEST(WeightByte, KeepsAWeightWithinTwoPercent) {
  EXPECT_EQ(weight_byte(0), 0);
  EXPECT_EQ(weight_byte(std::nanf("")), 0);
  EXPECT_EQ(weight_byte(1), 255);
  EXPECT_EQ(weight_byte(std::ldexp(1.0F, -16)), 1);
  EXPECT_EQ(weight_byte(std::ldexp(1.0F, -40)), 1);  // small weights stay above zero
  for (float weight = 1; weight > std::ldexp(1.0F, -16); weight *= 0.993F) {
    const double back = std::exp2((weight_byte(weight) - 1) * 16.0 / 254 - 16);
    EXPECT_NEAR(back / static_cast<double>(weight), 1, 0.0222) << weight;
  }
}

TEST(SignedByte, HasZeroInTheMiddle) {
  EXPECT_EQ(signed_byte(0, 2), 128);
  EXPECT_EQ(signed_byte(2, 2), 255);
  EXPECT_EQ(signed_byte(-2, 2), 1);
  EXPECT_EQ(signed_byte(-9, 2), 1);
  EXPECT_EQ(signed_byte(1, 0), 128);
  EXPECT_EQ(signed_byte(std::nan(""), 2), 128);
}

}  // namespace
}  // namespace attnscope
