#include "attnscope/checkpoint/npz.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/pytorch/zip.h"

namespace attnscope {
namespace {

constexpr std::string_view kNpyMagic("\x93NUMPY", 6), kNpyEnding = ".npy";
constexpr std::size_t kMaxNpyHeader = 64 * 1024, kMaxAxes = 16;
constexpr std::uint64_t kMaxInflated = std::uint64_t{1} << 30;  // of all arrays together

struct NamedDescription {
  std::string_view descr;
  DType dtype;
};
constexpr std::array kDescriptions = {
    NamedDescription{"<f4", DType::f32}, NamedDescription{"<f2", DType::f16},
    NamedDescription{"<f8", DType::f64}, NamedDescription{"<i8", DType::i64},
    NamedDescription{"<i4", DType::i32}, NamedDescription{"<i2", DType::i16},
    NamedDescription{"|i1", DType::i8},  NamedDescription{"|u1", DType::u8},
    NamedDescription{"<u2", DType::u16}, NamedDescription{"<u4", DType::u32},
    NamedDescription{"<u8", DType::u64}, NamedDescription{"|b1", DType::boolean}};

/// The text after `key` in the header's dict, without spaces.
std::string_view value_after(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(key);
  if (at == std::string_view::npos) return {};
  header.remove_prefix(at + key.size());
  header.remove_prefix(std::min(header.find_first_not_of(" :"), header.size()));
  return header;
}

/// Parses "(2, 3)", "(2,)" or "()".
std::optional<Shape> shape_in(std::string_view text) {
  if (!text.starts_with('(')) return std::nullopt;
  text.remove_prefix(1);
  Shape shape;
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(" ,"), text.size()));
    if (text.starts_with(')')) return shape;
    std::int64_t size = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), size);
    if (parsed.ec != std::errc() || size < 0 || shape.size() == kMaxAxes) return std::nullopt;
    shape.push_back(size);
    text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
  }
}

/// Strides of an array whose first axis varies fastest.
Shape fortran_strides(const Shape& shape) {
  Shape strides;
  std::int64_t step = 1;
  for (const std::int64_t size : shape) {
    strides.push_back(step);
    step *= size;
  }
  return strides;
}

/// Returns nothing, with a note, for element types that are not decoded.
std::optional<TensorView> array_view(std::span<const std::byte> npy, const FileLocation& where,
                                     const std::string& name, const NeedBytes& need,
                                     FileContents& contents) {
  ByteReader in(npy, where, "the array", need);
  if (in.take_text(kNpyMagic.size()) != kNpyMagic) refuse(where, "is not a .npy file");
  const auto version = in.take_number<std::uint8_t>();
  in.take_number<std::uint8_t>();
  if (version < 1 || version > 3) {
    refuse(where, "has version " + std::to_string(version) + " of .npy, expected 1 to 3");
  }
  const std::uint64_t size =
      version == 1 ? in.take_number<std::uint16_t>() : in.take_number<std::uint32_t>();
  if (size > kMaxNpyHeader) refuse(where, "has a header of more than 65536 bytes");
  const std::string_view header = in.take_text(size);
  std::string_view descr = value_after(header, "'descr'");
  descr = descr.starts_with('\'') ? descr.substr(1, descr.find('\'', 1) - 1) : "";
  const auto shape = shape_in(value_after(header, "'shape'"));
  const std::string_view order = value_after(header, "'fortran_order'");
  const bool fortran = order.starts_with("True");
  if (!shape || (!fortran && !order.starts_with("False"))) {
    refuse(where, "has a header without descr, fortran_order and shape");
  }
  const auto known =
      std::find_if(kDescriptions.begin(), kDescriptions.end(),
                   [&](const NamedDescription& each) { return each.descr == descr; });
  if (known == kDescriptions.end()) {
    contents.notes.push_back(verbatim("array '" + name + "' is skipped: its type '" +
                                      std::string(descr) + "' is not supported"));
    return std::nullopt;
  }
  std::uint64_t elements = dtype_info(known->dtype).bits / 8;
  for (const std::int64_t axis : *shape) {
    if (axis != 0 && elements > in.left() / static_cast<std::uint64_t>(axis)) {
      refuse(where, "is shorter than its shape");
    }
    elements *= static_cast<std::uint64_t>(axis);
  }
  TensorView view{.dtype = known->dtype, .shape = *shape, .bytes = in.pass_over(elements)};
  if (in.left() > 0) refuse(where, "is longer than its shape");
  if (fortran && shape->size() > 1) view.strides = fortran_strides(*shape);
  return view;
}

}  // namespace

FileContents parse_npz(std::span<const std::byte> archive, std::string_view name,
                       const NeedBytes& need) {
  const std::string file(name);
  FileContents contents;
  std::uint64_t inflated = 0;
  for (const auto& [path, entry] : read_zip_directory(archive, {file}, need)) {
    if (!path.ends_with(kNpyEnding)) continue;
    const FileLocation where = {file, "entry '" + path + "'"};
    std::span<const std::byte> npy = packed_bytes(archive, path, entry, {file}, need);
    NeedBytes need_of_array = need;
    if (entry.deflated) {
      if (need) need(npy);
      need_of_array = {};
      if (entry.bytes > kMaxInflated - inflated) {
        refuse(where, "the archive unpacks to more than 1 GiB", "save it with numpy.savez");
      }
      inflated += entry.bytes;
      contents.memory.push_back(std::make_shared<const std::vector<std::byte>>(
          inflate_bytes(npy, entry.bytes, entry.crc, where)));
      npy = *contents.memory.back();
    }
    const std::string tensor = path.substr(0, path.size() - kNpyEnding.size());
    if (first_broken_utf8(tensor)) refuse({file}, "the name of an array is not UTF-8");
    if (auto view = array_view(npy, where, tensor, need_of_array, contents)) {
      contents.tensors.push_back({tensor, *std::move(view)});
    }
  }
  if (contents.tensors.empty()) refuse({file}, "contains no arrays of numbers");
  std::stable_sort(contents.tensors.begin(), contents.tensors.end(),
                   [](const NamedTensor& a, const NamedTensor& b) {
                     return std::less<>()(a.view.bytes.data(), b.view.bytes.data());
                   });
  return contents;
}

FileContents read_npz(const MappedFile& file, std::string_view name) {
  return parse_npz(file.bytes(), name, [&](std::span<const std::byte> part) { file.need(part); });
}

}  // namespace attnscope
