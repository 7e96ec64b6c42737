#include "attnscope/checkpoint/quantized/bit_packing.h"

#include <algorithm>

namespace attnscope {
namespace {

/// The position of a number: the word that contains its first bit, and that bit.
struct BitPosition {
  std::int64_t word;
  int bit;
};

BitPosition place_of(BitPacking packing, int bits, std::int64_t index) {
  if (packing == BitPacking::per_word) {
    const std::int64_t in_word = kWordBits / bits;
    return {index / in_word, static_cast<int>(index % in_word) * bits};
  }
  return {index * bits / kWordBits, static_cast<int>(index * bits % kWordBits)};
}

std::uint8_t unpack_one(BitPacking packing, int bits, const std::byte* words, std::int64_t index) {
  const BitPosition position = place_of(packing, bits, index);
  const std::byte* word = words + position.word * kWordBytes;
  std::uint64_t both = load_word(word);
  if (position.bit + bits > kWordBits) {
    both |= static_cast<std::uint64_t>(load_word(word + kWordBytes)) << kWordBits;
  }
  return static_cast<std::uint8_t>(both >> position.bit & ((1u << bits) - 1));
}

/// Unpacks groups of eight numbers of a dense stream. Each group fills `bits` whole bytes.
template <int bits>
void unpack_eights(const std::byte* at, std::int64_t eights, std::uint8_t* out) {
  for (std::int64_t eight = 0; eight < eights; ++eight) {
    std::uint64_t numbers = 0;
    for (int byte = 0; byte < bits; ++byte) {
      numbers |= std::to_integer<std::uint64_t>(at[eight * bits + byte]) << 8 * byte;
    }
    for (int number = 0; number < 8; ++number) {
      out[eight * 8 + number] =
          static_cast<std::uint8_t>(numbers >> number * bits & ((1u << bits) - 1));
    }
  }
}

/// The most common width is a separate case, so that the loop vectorizes byte by byte.
template <>
void unpack_eights<4>(const std::byte* at, std::int64_t eights, std::uint8_t* out) {
  for (std::int64_t byte = 0; byte < eights * 4; ++byte) {
    const auto pair = std::to_integer<std::uint8_t>(at[byte]);
    out[2 * byte] = pair & 15;
    out[2 * byte + 1] = static_cast<std::uint8_t>(pair >> 4);
  }
}

void unpack_eights(int bits, const std::byte* at, std::int64_t eights, std::uint8_t* out) {
  switch (bits) {
    case 1: return unpack_eights<1>(at, eights, out);
    case 2: return unpack_eights<2>(at, eights, out);
    case 3: return unpack_eights<3>(at, eights, out);
    case 4: return unpack_eights<4>(at, eights, out);
    case 5: return unpack_eights<5>(at, eights, out);
    case 6: return unpack_eights<6>(at, eights, out);
    case 7: return unpack_eights<7>(at, eights, out);
    default: std::copy_n(reinterpret_cast<const std::uint8_t*>(at), eights * 8, out);
  }
}

}  // namespace

std::int64_t packed_words(BitPacking packing, int bits, std::int64_t count) {
  if (count == 0) return 0;
  const BitPosition last = place_of(packing, bits, count - 1);
  return last.word + (last.bit + bits > kWordBits ? 2 : 1);
}

void unpack_bits(BitPacking packing, int bits, const std::byte* words, std::int64_t first,
                 std::span<std::uint8_t> out) {
  const auto count = static_cast<std::int64_t>(out.size());
  std::int64_t done = 0;
  if (packing == BitPacking::dense) {
    const std::int64_t to_an_eighth = std::min(count, (8 - first % 8) % 8);
    for (; done < to_an_eighth; ++done) {
      out[static_cast<std::size_t>(done)] = unpack_one(packing, bits, words, first + done);
    }
    const std::int64_t eights = (count - done) / 8;
    unpack_eights(bits, words + (first + done) / 8 * bits, eights, out.data() + done);
    done += eights * 8;
  }
  for (; done < count; ++done) {
    out[static_cast<std::size_t>(done)] = unpack_one(packing, bits, words, first + done);
  }
}

void unpack_down_columns(BitPacking packing, int bits, const std::byte* words,
                         std::int64_t words_per_row, std::int64_t index, std::int64_t first_col,
                         std::span<std::uint8_t> out) {
  const BitPosition position = place_of(packing, bits, index);
  const std::byte* row = words + (position.word * words_per_row + first_col) * kWordBytes;
  const std::uint32_t mask = (1u << bits) - 1;
  const std::int64_t count = std::ssize(out);
  std::uint8_t* to = out.data();
  for (std::int64_t col = 0; col < count; ++col) {
    to[col] = static_cast<std::uint8_t>(load_word(row + col * kWordBytes) >> position.bit & mask);
  }
  if (position.bit + bits <= kWordBits) return;
  const std::byte* next = row + words_per_row * kWordBytes;
  for (std::int64_t col = 0; col < count; ++col) {
    const std::uint32_t upper = load_word(next + col * kWordBytes) << (kWordBits - position.bit);
    to[col] |= static_cast<std::uint8_t>(upper & mask);
  }
}

}  // namespace attnscope
