#include "attnscope/checkpoint/protobuf.h"

#include <bit>
#include <iterator>

#include "attnscope/base/text.h"

namespace attnscope {
namespace {

enum WireType : std::uint64_t { varint_type = 0, fixed64 = 1, length_delimited = 2, fixed32 = 5 };
constexpr int kMaxVarintBytes = 10;

}  // namespace

float ProtobufField::real() const {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value));
}

std::uint64_t ProtobufReader::varint() {
  std::uint64_t out = 0;
  for (int byte = 0; byte < kMaxVarintBytes; ++byte) {
    const auto part = in_.take_number<std::uint8_t>();
    out |= static_cast<std::uint64_t>(part & 0x7f) << (7 * byte);
    if ((part & 0x80) == 0) return out;
  }
  refuse(in_.where(), "a number has more than 10 bytes at byte " + std::to_string(in_.position()));
}

std::optional<ProtobufField> ProtobufReader::next() {
  if (in_.left() == 0) return std::nullopt;
  const std::uint64_t key = varint();
  ProtobufField field{.number = key >> 3};
  switch (key & 7) {
    case varint_type: field.value = varint(); break;
    case fixed64: field.value = in_.take_number<std::uint64_t>(); break;
    case fixed32: field.value = in_.take_number<std::uint32_t>(); break;
    case length_delimited:
      field.bytes = in_.pass_over(varint());
      field.is_bytes = true;
      break;
    default:
      refuse(in_.where(), "has wire type " + std::to_string(key & 7) + " at byte " +
                              std::to_string(in_.position()) + ", expected 0, 1, 2 or 5");
  }
  return field;
}

void append_integers(const ProtobufField& field, const FileLocation& where, std::size_t most,
                     std::vector<std::int64_t>& out) {
  const auto append = [&](std::int64_t number) {
    if (out.size() == most) {
      refuse(where, "a list has more than " + counted(std::ssize(out), "number"));
    }
    out.push_back(number);
  };
  if (!field.is_bytes) return append(field.integer());
  std::uint64_t value = 0;
  int bits = 0;
  for (const std::byte byte : field.bytes) {
    if (bits >= 7 * kMaxVarintBytes) refuse(where, "a number has more than 10 bytes");
    value |= (static_cast<std::uint64_t>(byte) & 0x7f) << bits;
    bits += 7;
    if ((byte & std::byte{0x80}) != std::byte{0}) continue;
    append(static_cast<std::int64_t>(value));
    value = 0;
    bits = 0;
  }
  if (bits != 0) refuse(where, "a packed number ends early");
}

}  // namespace attnscope
