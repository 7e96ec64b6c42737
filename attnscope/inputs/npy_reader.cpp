#include "attnscope/inputs/npy_reader.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

#include "attnscope/base/checked_arithmetic.h"
#include "attnscope/base/error.h"
#include "attnscope/base/text.h"

namespace attnscope {
namespace {

/// The expected values, for messages.
constexpr const char *kFloats = "float32", *kBools = "bool";

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr std::size_t kMaxAxes = 8;

[[noreturn]] void refuse_npy(const std::string& where, const char* type,
                             const std::string& problem) {
  throw Error(ErrorKind::format,
              {.file = where,
               .problem = "is not a supported .npy file: " + problem,
               .hint = std::string("save ") + type + " values with numpy.save()"});
}

/// Returns the text after that key in the header, which is a dictionary in Python syntax.
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

/// The header of an array. The reader's `bytes` then contain only its values.
std::string_view take_header(std::string_view& bytes, const std::string& where, const char* type) {
  static_assert(std::endian::native == std::endian::little);
  if (!bytes.starts_with(kNpyMagic) || bytes.size() < kNpyMagic.size() + 6) {
    refuse_npy(where, type, "it does not begin like one");
  }
  const char version = bytes[kNpyMagic.size()];
  if (version < 1 || version > 3)
    refuse_npy(where, type, "its version is unknown, expected 1 to 3");
  const std::size_t length_bytes = version == 1 ? 2 : 4,
                    before = kNpyMagic.size() + 2 + length_bytes;
  const std::uint64_t length = little_endian(bytes.substr(kNpyMagic.size() + 2, length_bytes));
  if (length > bytes.size() - before) refuse_npy(where, type, "its header is truncated");
  const std::string_view header = bytes.substr(before, static_cast<std::size_t>(length));
  bytes.remove_prefix(before + static_cast<std::size_t>(length));
  return header;
}

/// Whether values are stored column by column (Fortran order).
bool is_by_columns(std::string_view header, const std::string& where, const char* type) {
  const std::string_view order = value_after(header, "fortran_order");
  if (order.starts_with("True")) return true;
  if (!order.starts_with("False"))
    refuse_npy(where, type, "it does not specify the order of its values");
  return false;
}

/// Returns the shape of an array whose values have `item_bytes` bytes each. `bytes` must contain
/// all of them.
std::vector<std::int64_t> checked_shape(std::string_view header, std::string_view bytes,
                                        std::uint64_t item_bytes, const std::string& where,
                                        const char* type) {
  const auto shape = shape_of(value_after(header, "shape"));
  if (!shape) refuse_npy(where, type, "its shape is unreadable");
  std::optional<std::uint64_t> size = item_bytes;
  for (const std::int64_t axis : *shape) {
    if (size) size = checked_mul(*size, static_cast<std::uint64_t>(axis));
  }
  if (size != bytes.size()) {
    refuse_npy(where, type,
               "its shape " + shape_text(*shape) + " requires " +
                   (size ? std::to_string(*size) : "more than 2^64") + " bytes, but it has " +
                   std::to_string(bytes.size()) + " bytes");
  }
  return *shape;
}

}  // namespace

MediaInput read_npy(std::string_view bytes, const std::string& where) {
  static_assert(std::endian::native == std::endian::little);
  const std::string_view header = take_header(bytes, where, kFloats);
  const std::string_view type = value_after(header, "descr");
  const bool wide = type.starts_with("'<f8'");
  if (!wide && !type.starts_with("'<f4'")) {
    refuse_npy(where, kFloats, "its values are neither float32 nor float64");
  }
  if (is_by_columns(header, where, kFloats)) {
    refuse_npy(where, kFloats, "its values are stored column by column, expected row-major order");
  }
  MediaInput out{.shape = checked_shape(header, bytes, wide ? 8 : 4, where, kFloats),
                 .values = std::vector<float>(bytes.size() / (wide ? 8 : 4))};
  if (wide) {
    copy_values<double>(bytes, out.values);
  } else {
    copy_values<float>(bytes, out.values);
  }
  return out;
}

NpyBools read_npy_bools(std::string_view bytes, const std::string& where) {
  const std::string_view header = take_header(bytes, where, kBools);
  if (!value_after(header, "descr").starts_with("'|b1'")) {
    refuse_npy(where, kBools, "its values are not of type bool");
  }
  NpyBools out{.shape = checked_shape(header, bytes, /*item_bytes=*/1, where, kBools),
               .values = std::vector<bool>(bytes.size())};
  const bool by_columns = is_by_columns(header, where, kBools);
  std::vector<std::int64_t> place(out.shape.size());
  for (const char byte : bytes) {
    std::int64_t at = 0;
    for (std::size_t axis = 0; axis < place.size(); ++axis) at = at * out.shape[axis] + place[axis];
    out.values[static_cast<std::size_t>(at)] = byte != 0;
    // The first axis varies fastest in Fortran order, otherwise the last.
    for (std::size_t step = 0; step < place.size(); ++step) {
      const std::size_t axis = by_columns ? step : place.size() - 1 - step;
      if (++place[axis] < out.shape[axis]) break;
      place[axis] = 0;
    }
  }
  return out;
}

}  // namespace attnscope
