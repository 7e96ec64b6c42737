// Small unsigned integers packed into 32-bit little-endian words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace attnscope {

inline constexpr std::int64_t kWordBits = 32, kWordBytes = 4;

enum class BitPacking {
  dense,     // one bit stream, lowest bit first: numbers may extend into the next word
  per_word,  // each word contains as many whole numbers as fit, lowest bit first
};

/// Returns the number of words for `count` numbers of `bits` bits.
std::int64_t packed_words(BitPacking packing, int bits, std::int64_t count);

/// Unpacks numbers first, first + 1, … of `words`, which may start at any byte. `bits` is 1 to 8.
/// The numbers must exist.
void unpack_bits(BitPacking packing, int bits, const std::byte* words, std::int64_t first,
                 std::span<std::uint8_t> out);

/// The same for numbers packed along the columns of a row-major matrix of words with
/// `words_per_row` columns. Unpacks number `index` of columns first_col, first_col + 1, …
void unpack_down_columns(BitPacking packing, int bits, const std::byte* words,
                         std::int64_t words_per_row, std::int64_t index, std::int64_t first_col,
                         std::span<std::uint8_t> out);

inline std::uint32_t load_word(const std::byte* at) {
  return std::to_integer<std::uint32_t>(at[0]) | std::to_integer<std::uint32_t>(at[1]) << 8 |
         std::to_integer<std::uint32_t>(at[2]) << 16 | std::to_integer<std::uint32_t>(at[3]) << 24;
}

}  // namespace attnscope
