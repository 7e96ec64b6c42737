// GgufFile's getters: values by key and type.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "attnscope/base/error.h"
#include "attnscope/checkpoint/gguf/gguf_file.h"

namespace attnscope {
namespace {

std::optional<std::int64_t> as_whole(const GgufValue& value) {
  if (const auto* plain = std::get_if<std::int64_t>(&value); plain != nullptr && *plain >= 0) {
    return *plain;
  }
  if (const auto* plain = std::get_if<std::uint64_t>(&value);
      plain != nullptr && *plain <= INT64_MAX) {
    return static_cast<std::int64_t>(*plain);
  }
  return std::nullopt;
}

/// Returns the decimal with the fewest digits that rounds to this float32: 1e-6, not 9.99999997e-7.
double shortest(float value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  double out = 0;
  std::from_chars(text.data(), end, out);
  return out;
}

std::optional<double> as_number(const GgufValue& value) {
  std::optional<double> out;
  if (const auto* plain = std::get_if<float>(&value)) out = shortest(*plain);
  if (const auto* plain = std::get_if<double>(&value)) out = *plain;
  if (const auto* plain = std::get_if<std::int64_t>(&value)) out = static_cast<double>(*plain);
  if (const auto* plain = std::get_if<std::uint64_t>(&value)) out = static_cast<double>(*plain);
  return out && std::isfinite(*out) ? out : std::nullopt;
}

/// Returns the value of that key, converted by `convert`; nothing for an absent key. Throws for
/// another type.
template <class Convert>
auto converted(const GgufFile& file, std::string_view key, const char* expected, Convert convert)
    -> decltype(convert(std::declval<const GgufValue&>())) {
  const auto found = file.values.find(key);
  if (found == file.values.end()) return std::nullopt;
  auto value = convert(found->second);
  if (!value) file.refuse("the value of '" + verbatim(key) + "' is not " + expected);
  return value;
}

/// Items of a plain type, one by one.
template <class T, class Convert>
std::optional<std::vector<T>> items(const GgufArray& array, Convert convert) {
  std::vector<T> out;
  out.reserve(array.count);
  const std::uint64_t size = array.count == 0 ? 0 : array.bytes.size() / array.count;
  for (std::uint64_t index = 0; index < array.count; ++index) {
    const auto item = convert(array.bytes.data() + index * size);
    if (!item) return std::nullopt;
    out.push_back(*item);
  }
  return out;
}

template <class T>
std::optional<std::int64_t> whole_at(const std::byte* at, bool big_endian) {
  const T value = load_number<T>(at, big_endian);
  if (std::is_signed_v<T> && value < T{0}) return std::nullopt;
  if (static_cast<std::uint64_t>(value) > INT64_MAX) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

}  // namespace

void GgufFile::refuse(std::string problem) const {
  throw Error(ErrorKind::format, {.file = name, .problem = std::move(problem)});
}

std::optional<std::int64_t> GgufFile::whole(std::string_view key) const {
  return converted(*this, key, "a non-negative integer", as_whole);
}

std::optional<double> GgufFile::number(std::string_view key) const {
  return converted(*this, key, "a finite number", as_number);
}

std::optional<bool> GgufFile::flag(std::string_view key) const {
  return converted(*this, key, "true or false", [](const GgufValue& value) {
    const auto* plain = std::get_if<bool>(&value);
    return plain == nullptr ? std::optional<bool>() : *plain;
  });
}

std::optional<std::string_view> GgufFile::text(std::string_view key) const {
  return converted(*this, key, "a text", [](const GgufValue& value) {
    const auto* plain = std::get_if<std::string_view>(&value);
    return plain == nullptr ? std::optional<std::string_view>() : *plain;
  });
}

std::optional<std::vector<std::string_view>> GgufFile::texts(std::string_view key) const {
  return converted(*this, key, "a list of texts", [&](const GgufValue& value) {
    std::optional<std::vector<std::string_view>> out;
    const auto* array = std::get_if<GgufArray>(&value);
    if (array == nullptr || array->item != GgufType::text) return out;
    out.emplace();
    const std::byte* at = array->bytes.data();
    for (std::uint64_t index = 0; index < array->count; ++index) {  // checked by the parser
      const auto size = load_number<std::uint64_t>(at, big_endian);
      out->emplace_back(reinterpret_cast<const char*>(at + sizeof size), size);
      at += sizeof size + size;
    }
    return out;
  });
}

std::optional<std::vector<std::int64_t>> GgufFile::wholes(std::string_view key) const {
  return converted(*this, key, "a list of integers", [&](const GgufValue& value) {
    using Whole = std::optional<std::int64_t> (*)(const std::byte*, bool);
    Whole convert = nullptr;
    const auto* array = std::get_if<GgufArray>(&value);
    switch (array == nullptr ? GgufType::text : array->item) {
      case GgufType::u8: convert = whole_at<std::uint8_t>; break;
      case GgufType::i8: convert = whole_at<std::int8_t>; break;
      case GgufType::u16: convert = whole_at<std::uint16_t>; break;
      case GgufType::i16: convert = whole_at<std::int16_t>; break;
      case GgufType::u32: convert = whole_at<std::uint32_t>; break;
      case GgufType::i32: convert = whole_at<std::int32_t>; break;
      case GgufType::u64: convert = whole_at<std::uint64_t>; break;
      case GgufType::i64: convert = whole_at<std::int64_t>; break;
      default: return std::optional<std::vector<std::int64_t>>();
    }
    return items<std::int64_t>(*array,
                               [&](const std::byte* at) { return convert(at, big_endian); });
  });
}

std::optional<std::vector<bool>> GgufFile::flags(std::string_view key) const {
  const auto found = values.find(key);
  if (found == values.end() || !std::holds_alternative<GgufArray>(found->second)) {
    return std::nullopt;
  }
  const GgufArray& array = std::get<GgufArray>(found->second);
  if (array.item != GgufType::boolean) {
    refuse("the value of '" + verbatim(key) + "' is not a list of booleans");
  }
  return items<bool>(array,
                     [](const std::byte* at) { return std::optional<bool>(*at != std::byte{0}); });
}

std::optional<std::vector<float>> GgufFile::numbers(std::string_view key) const {
  return converted(*this, key, "a list of float32 numbers", [&](const GgufValue& value) {
    const auto* array = std::get_if<GgufArray>(&value);
    if (array == nullptr || array->item != GgufType::f32) {
      return std::optional<std::vector<float>>();
    }
    return items<float>(*array, [&](const std::byte* at) {
      return std::optional<float>(load_number<float>(at, big_endian));
    });
  });
}

}  // namespace attnscope
