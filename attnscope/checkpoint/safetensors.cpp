#include "attnscope/checkpoint/safetensors.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "attnscope/base/checked_arithmetic.h"
#include "attnscope/base/error.h"
#include "attnscope/base/strict_json.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/byte_reader.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the limit of the format
constexpr std::size_t kMaxDimensions = 16;

/// One entry of the header. Its fields are checked, but not yet its position relative to other
/// entries.
struct Entry {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::uint64_t begin = 0;  // bytes, relative to the end of the header
  std::uint64_t end = 0;
};

/// The subject of an error: the file, or one of its tensors.
struct Subject {
  std::string file;
  std::string tensor = {};
};

[[noreturn]] void refuse_tensor(const Subject& subject, std::string problem,
                                std::string hint = "") {
  throw Error(ErrorKind::format, {.file = subject.file,
                                  .tensor = subject.tensor,
                                  .problem = std::move(problem),
                                  .hint = std::move(hint)});
}

std::uint64_t header_length(std::span<const std::byte> file, const Subject& where) {
  if (file.empty()) refuse_tensor(where, "the file is empty");
  if (file.size() < kLengthBytes) {
    refuse_tensor(where, "too short for a safetensors file (" + counted(file.size(), "byte") + ")");
  }
  const auto length = load_number<std::uint64_t>(file.data());
  if (length > kMaxHeaderBytes) {
    refuse_tensor(
        where, "header length " + std::to_string(length) + " exceeds the limit of 100000000 bytes",
        "not a safetensors file?");
  }
  if (length > file.size() - kLengthBytes) {
    refuse_tensor(where,
                  "header length " + std::to_string(length) + " reaches past the end of the file",
                  "truncated download?");
  }
  return length;
}

std::optional<std::uint64_t> as_size(const json& value) {
  if (!value.is_number_unsigned()) return std::nullopt;
  return value.get<std::uint64_t>();
}

Shape parse_shape(const json& value, const Subject& where) {
  if (!value.is_array()) refuse_tensor(where, "'shape' is not an array");
  if (value.size() > kMaxDimensions) refuse_tensor(where, "'shape' has more than 16 dimensions");
  Shape shape;
  for (const json& size : value) {
    const auto parsed = as_size(size);
    if (!parsed || *parsed > INT64_MAX)
      refuse_tensor(where, "'shape' contains a value that is not a size");
    shape.push_back(static_cast<std::int64_t>(*parsed));
  }
  return shape;
}

/// Returns shape × dtype in bytes.
std::uint64_t byte_count(const Shape& shape, DType dtype, const Subject& where) {
  // The product is zero if any size is zero, in any order of the sizes.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::optional<std::uint64_t> bits = static_cast<std::uint64_t>(dtype_info(dtype).bits);
  for (const std::int64_t size : shape) {
    bits = checked_mul(*bits, static_cast<std::uint64_t>(size));
    if (!bits)
      refuse_tensor(where, "shape " + shape_text(shape) + " overflows the number of elements");
  }
  if (*bits % 8 != 0)
    refuse_tensor(where, "shape " + shape_text(shape) + " does not fill whole bytes");
  return *bits / 8;
}

Entry parse_entry(const std::string& name, const json& value, const Subject& file) {
  const Subject where = {file.file, name};
  if (!value.is_object()) refuse_tensor(where, "its header entry is not an object");
  for (const char* key : {"dtype", "shape", "data_offsets"}) {
    if (!value.contains(key)) refuse_tensor(where, std::string("has no '") + key + "'");
  }

  Entry entry{.name = name};
  const json& dtype = value["dtype"];
  if (!dtype.is_string()) refuse_tensor(where, "'dtype' is not a string");
  const auto& dtype_text = dtype.get_ref<const std::string&>();
  const auto known = dtype_from_name(dtype_text);
  if (!known) refuse_tensor(where, "unknown dtype '" + verbatim(dtype_text) + "'");
  entry.dtype = *known;
  entry.shape = parse_shape(value["shape"], where);

  const json& offsets = value["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2 || !as_size(offsets[0]) || !as_size(offsets[1])) {
    refuse_tensor(where, "'data_offsets' is not a pair of sizes");
  }
  entry.begin = *as_size(offsets[0]);
  entry.end = *as_size(offsets[1]);
  if (entry.begin > entry.end) refuse_tensor(where, "its offsets are reversed");

  const std::uint64_t expected = byte_count(entry.shape, entry.dtype, where);
  if (entry.end - entry.begin != expected) {
    refuse_tensor(where, "shape " + shape_text(entry.shape) + " of " + std::string(dtype_text) +
                             " requires " + counted(expected, "byte") + ", but its offsets span " +
                             std::to_string(entry.end - entry.begin));
  }
  return entry;
}

/// Tensors must cover the data exactly. Otherwise, a file could hide bytes in a gap or share bytes
/// between two tensors.
void check_cover(const std::vector<Entry>& entries, std::uint64_t payload_bytes,
                 const Subject& file) {
  std::uint64_t covered = 0;
  for (const Entry& entry : entries) {
    const Subject where = {file.file, entry.name};
    if (entry.end > payload_bytes) {
      refuse_tensor(where,
                    "its bytes end at " + std::to_string(entry.end) + ", past the end of the file",
                    counted(payload_bytes, "byte") + " of data; truncated download?");
    }
    if (entry.begin < covered) refuse_tensor(where, "its bytes overlap another tensor's");
    if (entry.begin > covered) refuse_tensor(where, "there is a gap in the file before its bytes");
    covered = entry.end;
  }
  if (covered != payload_bytes) {
    refuse_tensor(file, counted(payload_bytes - covered, "byte at the end belongs",
                                "bytes at the end belong") +
                            " to no tensor");
  }
}

std::map<std::string, std::string> parse_metadata(const json& value, const Subject& where) {
  std::map<std::string, std::string> metadata;
  if (!value.is_object()) refuse_tensor(where, "'__metadata__' is not an object");
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string())
      refuse_tensor(where, "'__metadata__' contains a value that is not a string");
    metadata.emplace(key, text.get_ref<const std::string&>());
  }
  return metadata;
}

}  // namespace

FileContents parse_safetensors(std::span<const std::byte> file, std::string_view name) {
  const Subject where = {std::string(name)};
  const std::uint64_t length = header_length(file, where);
  const std::string_view header(reinterpret_cast<const char*>(file.data()) + kLengthBytes,
                                static_cast<std::size_t>(length));
  if (header.empty() || header.front() != '{') {
    refuse_tensor(where, "the header does not start with '{{'", "not a safetensors file?");
  }
  const json parsed = parse_json(header, name, "header");

  FileContents result;
  std::vector<Entry> entries;
  for (const auto& [key, value] : parsed.items()) {
    if (key == "__metadata__") {
      result.metadata = parse_metadata(value, where);
    } else {
      entries.push_back(parse_entry(key, value, where));
    }
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });

  const std::span<const std::byte> payload = file.subspan(kLengthBytes + header.size());
  check_cover(entries, payload.size(), where);
  for (Entry& entry : entries) {
    const auto bytes = payload.subspan(static_cast<std::size_t>(entry.begin),
                                       static_cast<std::size_t>(entry.end - entry.begin));
    result.tensors.push_back({std::move(entry.name), {entry.dtype, std::move(entry.shape), bytes}});
  }
  return result;
}

FileContents read_safetensors(const MappedFile& file, std::string_view name) {
  const auto bytes = file.bytes();
  file.need(bytes.first(std::min<std::size_t>(kLengthBytes, bytes.size())));
  const auto length = static_cast<std::size_t>(header_length(bytes, {std::string(name)}));
  file.need(bytes.first(kLengthBytes + length));
  return parse_safetensors(bytes, name);
}

}  // namespace attnscope
