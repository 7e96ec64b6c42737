#include "attnscope/checkpoint/byte_reader.h"

#include <algorithm>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"

namespace attnscope {

void refuse(const FileLocation& where, std::string problem, std::string hint) {
  throw Error(ErrorKind::format, {.file = where.file,
                                  .place = where.place,
                                  .problem = std::move(problem),
                                  .hint = std::move(hint)});
}

ByteReader::ByteReader(std::span<const std::byte> bytes, FileLocation where, std::string_view part,
                       NeedBytes need, std::size_t step_bytes)
    : bytes_(bytes),
      where_(std::move(where)),
      part_(part),
      need_(std::move(need)),
      step_bytes_(step_bytes) {}

std::span<const std::byte> ByteReader::pass_over(std::uint64_t count, std::string_view what) {
  if (count > left()) {
    const std::string at = " at byte " + std::to_string(position_);
    if (!what.empty()) {
      refuse(where_, part_ + " ends within " + std::string(what) + at, "truncated download?");
    }
    refuse(where_, part_ + " ends early: " + counted(count, "byte is needed", "bytes are needed") +
                       at + ", " + std::to_string(left()) + (left() == 1 ? " is" : " are") +
                       " left");
  }
  const auto passed = bytes_.subspan(position_, static_cast<std::size_t>(count));
  position_ += passed.size();
  return passed;
}

std::span<const std::byte> ByteReader::take(std::uint64_t count, std::string_view what) {
  const std::size_t first = std::max(position_, asked_);
  const auto taken = pass_over(count, what);
  if (need_ && position_ > first) {
    asked_ = std::min(bytes_.size(), std::max(position_, first + step_bytes_));
    need_(bytes_.subspan(first, asked_ - first));
  }
  return taken;
}

std::string_view ByteReader::take_text(std::uint64_t count, std::string_view what) {
  const auto taken = take(count, what);
  return {reinterpret_cast<const char*>(taken.data()), taken.size()};
}

std::string_view ByteReader::take_until(char end) {
  const std::size_t first = position_;
  std::size_t length = 0;
  while (std::to_integer<char>(take(1)[0]) != end) ++length;
  return {reinterpret_cast<const char*>(bytes_.data()) + first, length};
}

}  // namespace attnscope
