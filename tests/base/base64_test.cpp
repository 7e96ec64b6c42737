#include "attnscope/base/text_encoding.h"

#include <gtest/gtest.h>

namespace attnscope {
namespace {

TEST(Base64, MatchesTheTestVectorsOfRfc4648) {  // RFC 4648, section 10
  const char* const vectors[][2] = {{"", ""},
                                    {"f", "Zg=="},
                                    {"fo", "Zm8="},
                                    {"foo", "Zm9v"},
                                    {"foob", "Zm9vYg=="},
                                    {"fooba", "Zm9vYmE="},
                                    {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
}

TEST(Base64, RoundTripsEveryByte) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  for (std::size_t size = 250; size <= bytes.size(); ++size) {
    EXPECT_EQ(from_base64(base64(bytes.substr(0, size))), bytes.substr(0, size));
  }
}

TEST(Base64, RejectsInvalidText) {
  for (const char* text : {"Z", "Zg", "Zg=", "Zm9", "Zg==Zg==", "=", "====", "Zm9v\n", "Zm 9v",
                           "Zm-v", "Zh==", "Zm9="}) {
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace attnscope
