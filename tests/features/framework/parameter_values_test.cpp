#include "attnscope/features/framework/parameter_values.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace attnscope::test {
namespace {

TEST(ByteSize, ReadsUnits) {
  const struct {
    const char* text;
    std::uint64_t bytes;
  } sizes[] = {
      {"2G", 2ull << 30}, {"512M", 512ull << 20}, {"1.5GiB", 3ull << 29}, {"64k", 64ull << 10},
      {"1t", 1ull << 40}, {"100MB", 100'000'000}, {"1.5gb", 1500000000},  {"4096B", 4096},
      {"0.5K", 512},      {"1TB", 1000000000000}, {"3KiB", 3ull << 10},
  };
  for (const auto& [text, bytes] : sizes) {
    EXPECT_EQ(parse_byte_size("memory", text), bytes) << text;
  }
}

TEST(ByteSize, UnitsAreMultiplesOf1000Or1024) {
  std::uint64_t binary = 1, decimal = 1;
  for (const std::string letter : {"K", "M", "G", "T"}) {
    binary *= 1024;
    decimal *= 1000;
    EXPECT_EQ(parse_byte_size("memory", "3" + letter), 3 * binary) << letter;
    EXPECT_EQ(parse_byte_size("memory", "3" + letter + "iB"), 3 * binary) << letter;
    EXPECT_EQ(parse_byte_size("memory", "3" + letter + "B"), 3 * decimal) << letter;
  }
}

TEST(ByteSize, RejectsInvalidSizes) {
  for (const char* text : {"", "G", "2", "0G", "-1G", "2GG", "2X", "1e3G", "inf", "infG", "nanG",
                           "0x2G", "2 G", "+2G", "0.1B", "99999999T", "1,5G"}) {
    SCOPED_TRACE(text);
    EXPECT_ERROR(ErrorKind::usage, parse_byte_size("memory", text));
  }
}

TEST(ByteSize, SuggestsTheIntendedUnit) {
  const auto message = [](const char* text) -> std::string {
    try {
      parse_byte_size("memory", text);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message("2").find("did you mean '2G'?"), std::string::npos) << message("2");
  EXPECT_NE(message("4GBs").find("did you mean '4GB'?"), std::string::npos) << message("4GBs");
  EXPECT_NE(message("lots").find("512M"), std::string::npos) << message("lots");
}

}  // namespace
}  // namespace attnscope::test
