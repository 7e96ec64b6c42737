#include "attnscope/checkpoint/onnx.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/protobuf.h"

namespace attnscope {
namespace {

constexpr std::size_t kMaxInitializers = 100'000, kMaxOnnxAxes = 16;
constexpr std::int64_t kOnnxFloat = 1;
constexpr std::string_view kFolded = "onnx::", kMatMul = "/MatMul";

// Field numbers.
enum ModelField : std::uint64_t { graph = 7 };
enum GraphField : std::uint64_t { node = 1, initializer = 5 };
enum NodeField : std::uint64_t { node_input = 1, node_name = 3, node_operation = 4 };
enum TensorField : std::uint64_t {
  dims = 1,
  data_type = 2,
  float_data = 4,
  tensor_name = 8,
  raw_data = 9,
  external_data = 13,
  data_location = 14
};
enum EntryField : std::uint64_t { entry_key = 1, entry_value = 2 };

struct OnnxType {
  std::int64_t number;
  DType dtype;
};
constexpr std::array kOnnxTypes = {OnnxType{kOnnxFloat, DType::f32}, OnnxType{2, DType::u8},
                                   OnnxType{3, DType::i8},           OnnxType{4, DType::u16},
                                   OnnxType{5, DType::i16},          OnnxType{6, DType::i32},
                                   OnnxType{7, DType::i64},          OnnxType{9, DType::boolean},
                                   OnnxType{10, DType::f16},         OnnxType{11, DType::f64},
                                   OnnxType{12, DType::u32},         OnnxType{13, DType::u64},
                                   OnnxType{16, DType::bf16},        OnnxType{17, DType::f8_e4m3},
                                   OnnxType{18, DType::f8_e4m3fnuz}, OnnxType{19, DType::f8_e5m2},
                                   OnnxType{20, DType::f8_e5m2fnuz}};

class OnnxReader {
 public:
  OnnxReader(const FileLocation& where, const NeedBytes& need) : where_(where), need_(need) {}

  FileContents read(std::span<const std::byte> model) {
    ProtobufReader in(model, where_, need_);
    bool found = false;
    while (const auto field = in.next()) {
      if (field->number != graph || !field->is_bytes) continue;
      found = true;
      read_graph(field->bytes);
    }
    if (!found) refuse(where_, "is not an ONNX model: it has no graph");
    if (contents_.tensors.empty()) refuse(where_, "the graph has no initializers with values");
    name_folded();
    std::stable_sort(contents_.tensors.begin(), contents_.tensors.end(),
                     [](const NamedTensor& a, const NamedTensor& b) {
                       return std::less<>()(a.view.bytes.data(), b.view.bytes.data());
                     });
    return std::move(contents_);
  }

 private:
  void read_graph(std::span<const std::byte> message) {
    ProtobufReader in(message, where_, need_);
    while (const auto field = in.next()) {
      if (!field->is_bytes) continue;
      if (field->number == node) read_node(field->bytes);
      if (field->number == initializer) read_initializer(field->bytes);
    }
  }

  void read_node(std::span<const std::byte> message) {
    ProtobufReader in(message, where_, need_);
    std::string_view name, operation;
    std::vector<std::string_view> inputs;
    while (const auto field = in.next()) {
      if (!field->is_bytes) continue;
      // Attributes may contain whole tensors.
      const bool is_text = field->number == node_input || field->number == node_name ||
                           field->number == node_operation;
      if (!is_text) continue;
      if (need_) need_(field->bytes);
      if (field->number == node_input) inputs.push_back(field->text());
      if (field->number == node_name) name = field->text();
      if (field->number == node_operation) operation = field->text();
    }
    if (operation == "MatMul" && inputs.size() == 2 && inputs[1].starts_with(kFolded)) {
      users_.emplace(inputs[1], name);
    }
  }

  void read_initializer(std::span<const std::byte> message) {
    ProtobufReader in(message, where_, need_);
    Shape shape;
    std::int64_t type = 0;
    std::string name;
    std::span<const std::byte> values, floats;
    bool is_external = false;
    External external;
    while (const auto field = in.next()) {
      switch (field->number) {
        case dims:
          if (need_ && field->is_bytes) need_(field->bytes);
          append_integers(*field, where_, kMaxOnnxAxes, shape);
          break;
        case data_type: type = field->integer(); break;
        case tensor_name:
          if (need_) need_(field->bytes);
          name = field->text();
          break;
        case float_data: floats = field->bytes; break;
        case raw_data: values = field->bytes; break;
        case external_data: read_entry(field->bytes, external); break;
        case data_location: is_external = field->value == 1; break;
        default: break;
      }
    }
    if (first_broken_utf8(name)) refuse(where_, "the name of an initializer is not UTF-8");
    if (type == kOnnxFloat && values.empty()) values = floats;
    add(std::move(name), std::move(shape), type, values,
        is_external ? std::optional(std::move(external)) : std::nullopt);
  }

  /// Values in another file: bytes from `place.first`, or all from there.
  struct External {
    BytesOfOtherFile place;
    std::optional<std::uint64_t> length;
  };

  void read_entry(std::span<const std::byte> message, External& out) {
    ProtobufReader in(message, where_, need_);
    std::string_view key, value;
    while (const auto field = in.next()) {
      if (!field->is_bytes) continue;
      if (need_) need_(field->bytes);
      if (field->number == entry_key) key = field->text();
      if (field->number == entry_value) value = field->text();
    }
    if (key == "location") out.place.file = value;
    if (key == "offset") out.place.first = whole_number(value);
    if (key == "length") out.length = whole_number(value);
  }

  std::uint64_t whole_number(std::string_view text) const {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) {
      refuse(where_, "'" + verbatim(std::string(text)) + "' is not a number of bytes");
    }
    return number;
  }

  void add(std::string name, Shape shape, std::int64_t type, std::span<const std::byte> values,
           std::optional<External> external) {
    if (++initializers_ > kMaxInitializers) {
      refuse(where_, "the graph has more than 100000 initializers");
    }
    const auto known = std::find_if(kOnnxTypes.begin(), kOnnxTypes.end(),
                                    [&](const OnnxType& each) { return each.number == type; });
    if (known == kOnnxTypes.end()) return skip(name, "its type is not supported");
    // Numbers in lists other than raw bytes are constants of the program, not weights.
    if (values.empty() && !external) return skip(name, "it has no raw values");
    constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
    const std::uint64_t stored = external ? external->length.value_or(kMost) : values.size();
    std::uint64_t bytes = static_cast<std::uint64_t>(dtype_info(known->dtype).bits) / 8;
    bool fits = true;
    for (const std::int64_t size : shape) {
      fits = fits && size > 0 && bytes <= stored / static_cast<std::uint64_t>(size);
      if (fits) bytes *= static_cast<std::uint64_t>(size);
    }
    if (!fits || (bytes != stored && stored != kMost)) {
      refuse({where_.file, "initializer '" + verbatim(name) + "'"},
             "its number of bytes does not match its shape");
    }
    NamedTensor tensor = {std::move(name),
                          {.dtype = known->dtype, .shape = std::move(shape), .bytes = values}};
    if (external) {
      external->place.count = bytes;
      tensor.view.bytes = {};
      tensor.other_file = std::move(external->place);
    }
    contents_.tensors.push_back(std::move(tensor));
  }

  void skip(const std::string& name, const std::string& reason) {
    contents_.notes.push_back(verbatim("initializer '" + name + "' is skipped: " + reason));
  }

  void name_folded() {
    std::set<std::string, std::less<>> taken;
    for (const NamedTensor& tensor : contents_.tensors) {
      if (!taken.insert(tensor.name).second) {
        refuse(where_, "two initializers have the name '" + verbatim(tensor.name) + "'");
      }
    }
    for (NamedTensor& tensor : contents_.tensors) {
      const auto user = users_.find(tensor.name);
      if (user == users_.end() || tensor.view.shape.size() != 2) continue;
      std::string_view module = user->second;
      if (!module.starts_with('/') || !module.ends_with(kMatMul)) continue;
      module.remove_prefix(1);
      module.remove_suffix(kMatMul.size());
      std::string name(module);
      std::replace(name.begin(), name.end(), '/', '.');
      name += ".weight";
      if (first_broken_utf8(name) || !taken.insert(name).second) continue;
      tensor.name = std::move(name);
      TensorView& view = tensor.view;
      view.strides = {1, view.shape[1]};
      std::swap(view.shape[0], view.shape[1]);
    }
  }

  FileLocation where_;
  const NeedBytes& need_;
  FileContents contents_;
  std::size_t initializers_ = 0;                        // also those that are skipped
  std::map<std::string_view, std::string_view> users_;  // of folded weights: the node's name
};

}  // namespace

FileContents parse_onnx(std::span<const std::byte> model, std::string_view name,
                        const NeedBytes& need) {
  return OnnxReader({std::string(name)}, need).read(model);
}

FileContents read_onnx(const MappedFile& file, std::string_view name) {
  return parse_onnx(file.bytes(), name, [&](std::span<const std::byte> part) { file.need(part); });
}

}  // namespace attnscope
