#include "attnscope/tokens/npy_array.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

#include "attnscope/core/checked.h"
#include "attnscope/core/error.h"
#include "attnscope/core/text.h"

namespace attnscope {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr std::size_t kMaxAxes = 8;

[[noreturn]] void refuse_npy(const std::string& where, const std::string& problem,
                             const char* type = "float32") {
  throw Error(ErrorKind::format,
              {.file = where,
               .problem = "is no .npy file that can be read: " + problem,
               .hint = std::string("save ") + type + " values with numpy.save()"});
}

/// What stands after that key in the header, which is a dictionary in Python's spelling.
std::string_view value_after(std::string_view header, const std::string& key) {
  const auto at = header.find("'" + key + "':");
  if (at == std::string_view::npos) return {};
  header.remove_prefix(at + key.size() + 3);
  while (header.starts_with(' ')) header.remove_prefix(1);
  return header;
}

/// "(3, 224, 224)"
std::optional<std::vector<std::int64_t>> shape_of(std::string_view text) {
  std::vector<std::int64_t> shape;
  if (!text.starts_with('(')) return std::nullopt;
  text.remove_prefix(1);
  while (true) {
    while (text.starts_with(' ') || text.starts_with(',')) text.remove_prefix(1);
    if (text.starts_with(')')) return shape;
    std::int64_t axis = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), axis);
    if (error != std::errc() || axis < 0 || shape.size() == kMaxAxes) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    shape.push_back(axis);
  }
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t at = bytes.size(); at-- > 0;) {
    value = value << 8 | static_cast<std::uint8_t>(bytes[at]);
  }
  return value;
}

template <class T>
void copy_values(std::string_view bytes, std::vector<float>& out) {
  for (std::size_t at = 0; at < out.size(); ++at) {
    T value;
    std::memcpy(&value, bytes.data() + at * sizeof(T), sizeof(T));
    out[at] = static_cast<float>(value);
  }
}

/// The header of an array, and its values, which are all that is left in `bytes`.
std::string_view take_header(std::string_view& bytes, const std::string& where) {
  static_assert(std::endian::native == std::endian::little);
  if (!bytes.starts_with(kNpyMagic) || bytes.size() < kNpyMagic.size() + 6) {
    refuse_npy(where, "it does not begin as one");
  }
  const char version = bytes[kNpyMagic.size()];
  if (version < 1 || version > 3) refuse_npy(where, "its version is not known");
  const std::size_t length_bytes = version == 1 ? 2 : 4,
                    before = kNpyMagic.size() + 2 + length_bytes;
  const std::uint64_t length = little_endian(bytes.substr(kNpyMagic.size() + 2, length_bytes));
  if (length > bytes.size() - before) refuse_npy(where, "its header is cut");
  const std::string_view header = bytes.substr(before, static_cast<std::size_t>(length));
  bytes.remove_prefix(before + static_cast<std::size_t>(length));
  return header;
}

/// The shape of an array of values of `item_bytes` bytes each, which `bytes` holds.
std::vector<std::int64_t> checked_shape(std::string_view header, std::string_view bytes,
                                        std::uint64_t item_bytes, const std::string& where) {
  if (!value_after(header, "fortran_order").starts_with("False")) {
    refuse_npy(where, "its values are not stored row by row");
  }
  const auto shape = shape_of(value_after(header, "shape"));
  if (!shape) refuse_npy(where, "its shape cannot be read");
  std::optional<std::uint64_t> size = item_bytes;
  for (const std::int64_t axis : *shape) {
    if (size) size = checked_mul(*size, static_cast<std::uint64_t>(axis));
  }
  if (size != bytes.size()) {
    refuse_npy(where, "its shape " + shape_text(*shape) + " needs " +
                          (size ? std::to_string(*size) : "more than 2^64") +
                          " bytes, and it has " + std::to_string(bytes.size()) + " bytes");
  }
  return *shape;
}

}  // namespace

Signal read_npy(std::string_view bytes, const std::string& where) {
  static_assert(std::endian::native == std::endian::little);
  const std::string_view header = take_header(bytes, where);
  const std::string_view type = value_after(header, "descr");
  const bool wide = type.starts_with("'<f8'");
  if (!wide && !type.starts_with("'<f4'")) refuse_npy(where, "it holds no float32 or float64");
  Signal out{.shape = checked_shape(header, bytes, wide ? 8 : 4, where),
             .values = std::vector<float>(bytes.size() / (wide ? 8 : 4))};
  if (wide) {
    copy_values<double>(bytes, out.values);
  } else {
    copy_values<float>(bytes, out.values);
  }
  return out;
}

NpyBools read_npy_bools(std::string_view bytes, const std::string& where) {
  const std::string_view header = take_header(bytes, where);
  if (!value_after(header, "descr").starts_with("'|b1'")) {
    refuse_npy(where, "it holds no bool", "bool");
  }
  NpyBools out{.shape = checked_shape(header, bytes, /*item_bytes=*/1, where), .values = {}};
  out.values.reserve(bytes.size());
  for (const char byte : bytes) out.values.push_back(byte != 0);
  return out;
}

}  // namespace attnscope
