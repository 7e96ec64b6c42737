#include "attnscope/checkpoint/gguf/gguf_file.h"

#include <algorithm>
#include <set>

#include "attnscope/base/checked_arithmetic.h"
#include "attnscope/base/error.h"
#include "attnscope/base/text.h"

namespace attnscope {
namespace {

constexpr std::string_view kGgufMagic = "GGUF";
constexpr std::string_view kAlignmentKey = "general.alignment";
constexpr std::uint64_t kUsualAlignment = 32;
constexpr std::uint64_t kMaxKeyBytes = 65'535;   // the limit of the format
constexpr std::uint32_t kMaxGgufDimensions = 4;  // the limit of the format
constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 62;
constexpr int kMaxNesting = 8;
constexpr std::size_t kStepBytes = 256 * 1024;  // file heads contain a vocabulary and are megabytes
                                                // large

/// Zero for texts and arrays, whose sizes vary.
std::uint64_t item_bytes(GgufType type) {
  switch (type) {
    case GgufType::u8:
    case GgufType::i8:
    case GgufType::boolean: return 1;
    case GgufType::u16:
    case GgufType::i16: return 2;
    case GgufType::u32:
    case GgufType::i32:
    case GgufType::f32: return 4;
    case GgufType::u64:
    case GgufType::i64:
    case GgufType::f64: return 8;
    case GgufType::text:
    case GgufType::array: break;
  }
  return 0;
}

std::string_view take_text(ByteReader& in, std::string_view what) {
  const auto bytes = in.take_number<std::uint64_t>(what);
  return in.take_text(bytes, what);
}

GgufType take_type(ByteReader& in, const std::string& key) {
  const auto id = in.take_number<std::uint32_t>("the type of a value");
  if (id > static_cast<std::uint32_t>(GgufType::f64)) {
    refuse(in.where(),
           "the value of '" + verbatim(key) + "' has the unknown type " + std::to_string(id));
  }
  return static_cast<GgufType>(id);
}

GgufArray take_array(ByteReader& in, const std::string& key, std::span<const std::byte> whole_file,
                     int depth) {
  if (depth > kMaxNesting) {
    refuse(in.where(), "the value of '" + verbatim(key) + "' is nested deeper than " +
                           std::to_string(kMaxNesting) + " arrays");
  }
  GgufArray array{.item = take_type(in, key),
                  .count = in.take_number<std::uint64_t>("the size of an array")};
  const std::uint64_t begin = in.position();
  if (const std::uint64_t size = item_bytes(array.item); size > 0) {
    const auto total = checked_mul(array.count, size);
    if (!total) {
      refuse(in.where(), "the value of '" + verbatim(key) + "' has " +
                             counted(array.count, "item") + ", more than a file can contain");
    }
    in.take(*total, "an array");
  } else {
    // Each item takes at least one byte, so a count that is too large reaches the end of the file.
    for (std::uint64_t item = 0; item < array.count; ++item) {
      if (array.item == GgufType::text) {
        take_text(in, "a text in an array");
      } else {
        take_array(in, key, whole_file, depth + 1);
      }
    }
  }
  array.bytes = whole_file.subspan(begin, in.position() - begin);
  return array;
}

GgufValue scalar(const std::byte* at, GgufType type, bool big) {
  switch (type) {
    case GgufType::u8: return std::uint64_t{load_number<std::uint8_t>(at, big)};
    case GgufType::i8: return std::int64_t{load_number<std::int8_t>(at, big)};
    case GgufType::u16: return std::uint64_t{load_number<std::uint16_t>(at, big)};
    case GgufType::i16: return std::int64_t{load_number<std::int16_t>(at, big)};
    case GgufType::u32: return std::uint64_t{load_number<std::uint32_t>(at, big)};
    case GgufType::i32: return std::int64_t{load_number<std::int32_t>(at, big)};
    case GgufType::u64: return load_number<std::uint64_t>(at, big);
    case GgufType::i64: return load_number<std::int64_t>(at, big);
    case GgufType::f32: return load_number<float>(at, big);
    case GgufType::f64: return load_number<double>(at, big);
    default: return load_number<std::uint8_t>(at, big) != 0;
  }
}

GgufValue take_value(ByteReader& in, const std::string& key,
                     std::span<const std::byte> whole_file) {
  const GgufType type = take_type(in, key);
  if (type == GgufType::text) return take_text(in, "a text");
  if (type == GgufType::array) return take_array(in, key, whole_file, 1);
  return scalar(in.take(item_bytes(type), "a value").data(), type, in.big_endian());
}

/// A tensor's entry. Its position is not yet checked against other entries.
struct TensorEntry {
  GgufTensor tensor;
  std::uint64_t offset = 0;  // bytes from the start of the data
  std::uint64_t size = 0;    // bytes
};

/// Checks the name of a key or tensor, because messages repeat it.
std::string take_name(ByteReader& in, const char* what) {
  const std::string_view name = take_text(in, what);
  if (name.size() > kMaxKeyBytes) {
    refuse(in.where(), std::string(what) + " has " + std::to_string(name.size()) +
                           " bytes, exceeding the limit of " + std::to_string(kMaxKeyBytes));
  }
  if (const auto broken = first_broken_utf8(name)) {
    refuse(in.where(), std::string(what) + " is not UTF-8 at byte " + std::to_string(*broken));
  }
  return std::string(name);
}

TensorEntry take_entry(ByteReader& in, const std::string& file) {
  TensorEntry entry;
  GgufTensor& tensor = entry.tensor;
  tensor.name = take_name(in, "the name of a tensor");
  const auto refuse = [&](ErrorKind kind, std::string problem) {
    throw Error(kind, {.file = file, .tensor = tensor.name, .problem = std::move(problem)});
  };
  const auto dimensions = in.take_number<std::uint32_t>("the entry of a tensor");
  if (dimensions > kMaxGgufDimensions) {
    refuse(ErrorKind::format, "has " + std::to_string(dimensions) + " dimensions, the limit is 4");
  }
  std::uint64_t elements = 1;
  for (std::uint32_t axis = 0; axis < dimensions; ++axis) {
    const auto size = in.take_number<std::uint64_t>("the shape of a tensor");
    const auto product = checked_mul(elements, size);
    if (size > kMaxSize || !product || *product > kMaxSize) {
      refuse(ErrorKind::format, "its shape overflows");
    }
    elements = *product;
    tensor.shape.insert(tensor.shape.begin(), static_cast<std::int64_t>(size));
  }
  const auto id = in.take_number<std::uint32_t>("the entry of a tensor");
  tensor.type = find_ggml_type(id);
  if (tensor.type == nullptr) {
    refuse(ErrorKind::unsupported, "has the unknown type " + std::to_string(id));
  }
  const std::int64_t line = tensor.shape.empty() ? 1 : tensor.shape.back();
  if (line % tensor.type->block_values != 0) {
    refuse(ErrorKind::format, "rows of " + counted(line, "value") + " cannot be divided into " +
                                  std::string(tensor.type->name) + " blocks of " +
                                  std::to_string(tensor.type->block_values));
  }
  const auto size = checked_mul(elements / static_cast<std::uint64_t>(tensor.type->block_values),
                                static_cast<std::uint64_t>(tensor.type->block_bytes));
  if (!size) refuse(ErrorKind::format, "its shape overflows");
  entry.size = *size;
  entry.offset = in.take_number<std::uint64_t>("the entry of a tensor");
  return entry;
}

std::uint64_t alignment_of(const GgufFile& file) {
  const auto found = file.values.find(kAlignmentKey);
  if (found == file.values.end()) return kUsualAlignment;
  const auto* value = std::get_if<std::uint64_t>(&found->second);
  if (value == nullptr || *value == 0 || (*value & (*value - 1)) != 0) {
    file.refuse("'" + std::string(kAlignmentKey) + "' is not a power of two");
  }
  return *value;
}

/// Assigns its bytes to each tensor. `data`: the position where the head ends, before its padding.
void place_tensors(GgufFile& file, std::vector<TensorEntry> entries,
                   std::span<const std::byte> bytes, std::uint64_t head_end) {
  const std::uint64_t alignment = alignment_of(file);
  const auto padded = checked_add(head_end, alignment - 1);
  const std::uint64_t start = padded ? *padded / alignment * alignment : bytes.size();
  std::sort(entries.begin(), entries.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return std::tie(a.offset, a.size) < std::tie(b.offset, b.size);
  });
  std::uint64_t covered = 0;
  for (TensorEntry& entry : entries) {
    const auto refuse = [&](std::string problem, std::string hint = "") {
      throw Error(ErrorKind::format, {.file = file.name,
                                      .tensor = entry.tensor.name,
                                      .problem = std::move(problem),
                                      .hint = std::move(hint)});
    };
    if (entry.offset % alignment != 0) {
      refuse("its offset " + std::to_string(entry.offset) + " is not a multiple of the alignment " +
             std::to_string(alignment));
    }
    const auto end = checked_add(entry.offset, entry.size);
    if (start > bytes.size() || !end || *end > bytes.size() - start) {
      refuse("its " + counted(entry.size, "byte") + " at " + std::to_string(entry.offset) +
                 (entry.size == 1 ? " reaches past" : " reach past") + " the end of the file",
             "truncated download?");
    }
    if (entry.offset < covered) refuse("its bytes overlap another tensor's");
    covered = *end;
    entry.tensor.bytes = bytes.subspan(start + entry.offset, entry.size);
    file.tensors.push_back(std::move(entry.tensor));
  }
}

}  // namespace

GgufFile parse_gguf(std::span<const std::byte> bytes, std::string_view name,
                    const NeedBytes& need) {
  GgufFile file{.name = std::string(name)};
  ByteReader in(bytes, {file.name}, "the file", need, kStepBytes);
  const auto magic = in.take(kGgufMagic.size(), "the first bytes of a GGUF file");
  if (std::memcmp(magic.data(), kGgufMagic.data(), kGgufMagic.size()) != 0) {
    refuse(in.where(), "does not start with 'GGUF'", "not a GGUF file?");
  }
  auto version = in.take_number<std::uint32_t>("the version");
  if ((version & 0xFFFF) == 0) {  // in a big-endian file; it is a small number in the other byte
                                  // order
    file.big_endian = true;
    in.set_big_endian(true);
    version = __builtin_bswap32(version);
  }
  if (version != 2 && version != 3) {
    throw Error(ErrorKind::unsupported,
                {.file = file.name,
                 .problem = "version " + std::to_string(version) + " of GGUF is not supported",
                 .hint = "supported: versions 2 and 3"});
  }
  const auto tensors = in.take_number<std::uint64_t>("the number of tensors");
  const auto values = in.take_number<std::uint64_t>("the number of values");
  // Both counts are untrusted: entries are read one at a time until the end of the file, never
  // allocated up front.
  for (std::uint64_t index = 0; index < values; ++index) {
    std::string key = take_name(in, "a key");
    GgufValue value = take_value(in, key, bytes);
    if (!file.values.emplace(key, value).second) {
      refuse(in.where(), "the key '" + verbatim(key) + "' occurs twice");
    }
  }
  std::vector<TensorEntry> entries;
  std::set<std::string> names;
  for (std::uint64_t index = 0; index < tensors; ++index) {
    entries.push_back(take_entry(in, file.name));
    if (!names.insert(entries.back().tensor.name).second) {
      refuse(in.where(), "tensor '" + verbatim(entries.back().tensor.name) + "' occurs twice");
    }
  }
  place_tensors(file, std::move(entries), bytes, in.position());
  return file;
}

}  // namespace attnscope
