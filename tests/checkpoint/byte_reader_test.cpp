#include "attnscope/checkpoint/byte_reader.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/support/expect_error.h"

namespace attnscope {
namespace {

std::vector<std::byte> counted_bytes(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t at = 0; at < count; ++at) bytes[at] = static_cast<std::byte>(at);
  return bytes;
}

TEST(ByteReader, ReadsNumbersOfBothByteOrders) {
  const auto bytes = counted_bytes(16);
  ByteReader in(bytes, {"f"}, "the file");
  EXPECT_EQ(in.take_number<std::uint8_t>(), 0);
  EXPECT_EQ(in.take_number<std::uint32_t>(), 0x04030201u);
  in.set_big_endian(true);
  EXPECT_EQ(in.take_number<std::uint16_t>(), 0x0506);
  EXPECT_EQ(in.take_number<std::int64_t>(), 0x0708090A0B0C0D0E);
  EXPECT_EQ(in.left(), 1u);
}

TEST(ByteReader, ReportsWhatEndsEarlyAndWhere) {
  const auto bytes = counted_bytes(6);
  ByteReader in(bytes, {"f", "a part"}, "the list");
  in.take(4);
  EXPECT_ERROR_SAYING(ErrorKind::format, in.take(3), "f: a part: ",
                      "the list ends early: 3 bytes are needed at byte 4, 2 are left");
  EXPECT_ERROR_SAYING(ErrorKind::format, in.take_number<double>("a key"),
                      "the list ends within a key at byte 4 (truncated download?)");
  EXPECT_EQ(in.position(), 4u);
}

/// Each range may be one network request, and every requested byte is downloaded.
TEST(ByteReader, RequestsEachByteOnceInSteps) {
  const auto bytes = counted_bytes(100);
  std::vector<std::pair<std::size_t, std::size_t>> asked;  // offset and size
  const auto need = [&](std::span<const std::byte> part) {
    asked.emplace_back(static_cast<std::size_t>(part.data() - bytes.data()), part.size());
  };
  ByteReader in(bytes, {"f"}, "the file", need, 10);
  for (int count = 0; count < 4; ++count) in.take(3);  // the last one spans two steps
  in.take(25);                                         // more than a step
  in.pass_over(40);
  in.take(1);
  in.take(20);
  in.take(1);  // a full step would extend past the end
  EXPECT_EQ(asked, (decltype(asked){{0, 10}, {10, 10}, {20, 17}, {77, 10}, {87, 11}, {98, 2}}));
}

}  // namespace
}  // namespace attnscope
