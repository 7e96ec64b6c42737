#include "attnscope/checkpoint/quantized/bit_packing.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace attnscope {
namespace {

/// Reference implementation, bit by bit.
unsigned number_at(BitPacking packing, int bits, const std::vector<std::uint8_t>& words,
                   std::int64_t index) {
  std::int64_t first = index * bits;
  if (packing == BitPacking::per_word) {
    const std::int64_t in_word = 32 / bits;
    first = index / in_word * 32 + index % in_word * bits;
  }
  unsigned number = 0;
  for (int bit = 0; bit < bits; ++bit) {
    const auto at = static_cast<std::size_t>(first + bit);
    number |= (words[at / 8] >> at % 8 & 1u) << bit;
  }
  return number;
}

std::vector<std::uint8_t> random_bytes(std::int64_t count) {
  std::mt19937 random(3);
  std::vector<std::uint8_t> bytes;
  for (std::int64_t at = 0; at < count; ++at) bytes.push_back(random() & 0xFF);
  return bytes;
}

TEST(BitPacking, ReadsEveryWidthAtEveryOffset) {
  constexpr std::int64_t kCount = 77;
  for (const BitPacking packing : {BitPacking::dense, BitPacking::per_word}) {
    for (int bits = 1; bits <= 8; ++bits) {
      const std::int64_t words = packed_words(packing, bits, kCount);
      // Exactly as many bytes as needed.
      const std::vector<std::uint8_t> bytes = random_bytes(words * 4);
      for (std::int64_t first = 0; first < kCount; ++first) {
        for (const std::int64_t count : {std::int64_t{1}, (kCount - first) / 2, kCount - first}) {
          std::vector<std::uint8_t> got(static_cast<std::size_t>(count));
          unpack_bits(packing, bits, std::as_bytes(std::span(bytes)).data(), first, got);
          for (std::int64_t at = 0; at < count; ++at) {
            ASSERT_EQ(got[static_cast<std::size_t>(at)],
                      number_at(packing, bits, bytes, first + at))
                << bits << " bits, " << first << " + " << at;
          }
        }
      }
    }
  }
}

TEST(BitPacking, ReadsDownColumns) {
  constexpr std::int64_t kRows = 45, kCols = 9;
  for (const BitPacking packing : {BitPacking::dense, BitPacking::per_word}) {
    for (int bits = 1; bits <= 8; ++bits) {
      const std::int64_t words = packed_words(packing, bits, kRows);
      const std::vector<std::uint8_t> bytes = random_bytes(words * kCols * 4);
      for (std::int64_t col = 0; col < kCols; ++col) {
        std::vector<std::uint8_t> column;
        for (std::int64_t word = 0; word < words; ++word) {
          const auto at = bytes.begin() + (word * kCols + col) * 4;
          column.insert(column.end(), at, at + 4);
        }
        for (std::int64_t row = 0; row < kRows; ++row) {
          std::vector<std::uint8_t> got(static_cast<std::size_t>(kCols - col));
          unpack_down_columns(packing, bits, std::as_bytes(std::span(bytes)).data(), kCols, row,
                              col, got);
          ASSERT_EQ(got[0], number_at(packing, bits, column, row)) << bits << " bits, row " << row;
        }
      }
    }
  }
}

TEST(BitPacking, CountsWords) {
  EXPECT_EQ(packed_words(BitPacking::dense, 3, 0), 0);
  EXPECT_EQ(packed_words(BitPacking::dense, 3, 32), 3);
  // The eleventh number extends into the second word.
  EXPECT_EQ(packed_words(BitPacking::dense, 3, 11), 2);
  EXPECT_EQ(packed_words(BitPacking::per_word, 3, 10), 1);
  EXPECT_EQ(packed_words(BitPacking::per_word, 3, 11), 2);
  EXPECT_EQ(packed_words(BitPacking::dense, 4, 9), 2);
}

}  // namespace
}  // namespace attnscope
