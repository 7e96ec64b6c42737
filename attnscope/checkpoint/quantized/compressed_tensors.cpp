// compressed-tensors: packed integers, int8 or float8, with scales per tensor, row, group or block.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/quantized/methods.h"
#include "attnscope/checkpoint/quantized/scale_grid.h"
#include "attnscope/checkpoint/quantized/weight_tensors.h"

namespace attnscope {
namespace {

using nlohmann::json;

/// "weights" of one of its config_groups.
struct CompressedScheme {
  int bits = 8;
  bool is_float = false;
  std::string strategy;  // "tensor", "channel", "group", "tensor_group" or "block"
  std::int64_t group_size = 0;
  std::int64_t block_rows = 0, block_cols = 0;
  bool is_symmetric = true;
  bool has_group_order = false;  // actorder "group": a list contains each column's group
};

class SchemeReader {
 public:
  SchemeReader(const WeightParts& parts, const json& weights) : parts_(parts), weights_(weights) {}

  CompressedScheme read() const {
    CompressedScheme scheme{.bits = static_cast<int>(size("num_bits", 8).value_or(8)),
                            .is_float = text("type") == "float",
                            .strategy = text("strategy"),
                            .is_symmetric = !is_false("symmetric"),
                            .has_group_order = text("actorder") == "group"};
    constexpr std::int64_t kMax = 1'000'000'000;
    scheme.group_size = size("group_size", kMax).value_or(0);
    // The default of the library if the strategy is not specified.
    if (scheme.strategy.empty()) scheme.strategy = scheme.group_size > 0 ? "group" : "tensor";
    const bool grouped = scheme.strategy == "group" || scheme.strategy == "tensor_group";
    if (grouped && scheme.group_size == 0) refuse("group_size");
    if (scheme.strategy == "block") {
      const auto block = weights_.find("block_structure");
      if (block == weights_.end() || !block->is_array() || block->size() != 2) {
        refuse("block_structure");
      }
      scheme.block_rows = as_size((*block)[0], "block_structure", kMax);
      scheme.block_cols = as_size((*block)[1], "block_structure", kMax);
    } else if (!grouped && scheme.strategy != "tensor" && scheme.strategy != "channel") {
      refuse("strategy");
    }
    return scheme;
  }

 private:
  [[noreturn]] void refuse(const std::string& key) const {
    parts_.refuse_config("'" + key + "' of weights is missing or invalid");
  }

  const json* find(const char* key) const {
    const auto found = weights_.find(key);
    return found == weights_.end() || found->is_null() ? nullptr : &*found;
  }

  std::string text(const char* key) const {
    const json* value = find(key);
    if (value == nullptr) return "";
    if (!value->is_string()) refuse(key);
    return value->get<std::string>();
  }

  bool is_false(const char* key) const {
    const json* value = find(key);
    return value != nullptr && *value == false;
  }

  std::int64_t as_size(const json& value, const char* key, std::int64_t most) const {
    if (!value.is_number_integer() || value < 1 || value > most) refuse(key);
    return value.get<std::int64_t>();
  }

  std::optional<std::int64_t> size(const char* key, std::int64_t most) const {
    const json* value = find(key);
    if (value == nullptr || *value == -1) return std::nullopt;
    return as_size(*value, key, most);
  }

  const WeightParts& parts_;
  const json& weights_;
};

/// Throws Error(format) for a contradiction, Error(unsupported) for an unknown strategy.
std::vector<CompressedScheme> read_schemes(const WeightParts& parts) {
  std::vector<CompressedScheme> schemes;
  const auto groups = parts.config().find("config_groups");
  if (groups == parts.config().end() || !groups->is_object()) return schemes;
  for (const json& group : *groups) {
    if (!group.is_object())
      parts.refuse_config("'config_groups' contains a value that is not an object");
    const auto weights = group.find("weights");
    if (weights == group.end() || weights->is_null()) continue;
    if (!weights->is_object()) parts.refuse_config("'weights' is not an object");
    schemes.push_back(SchemeReader(parts, *weights).read());
  }
  return schemes;
}

/// Whether the compressor's version packs numbers per word (BitPacking::per_word): versions up to
/// 0.15.
bool is_written_per_word(const WeightParts& parts) {
  const std::string version = parts.text("version");
  if (!version.starts_with("0.")) return false;
  int minor = 0;
  for (std::size_t at = 2; at < version.size() && at < 5; ++at) {
    if (version[at] < '0' || version[at] > '9') break;
    minor = 10 * minor + (version[at] - '0');
  }
  return minor <= 15;
}

/// Returns the shape of scales that a scheme requires for a (rows, cols) weight.
struct ScaleShape {
  Shape shape;
  std::int64_t block_rows = 1, block_cols = 1;
  std::string words;
};

ScaleShape scale_shape(const CompressedScheme& scheme, std::int64_t rows, std::int64_t cols) {
  if (scheme.strategy == "tensor") return {{1}, rows, cols, "one scale"};
  if (scheme.strategy == "channel") return {{rows, 1}, 1, cols, "one scale per row"};
  if (scheme.strategy == "block") {
    return {{blocks_of(rows, scheme.block_rows), blocks_of(cols, scheme.block_cols)},
            scheme.block_rows,
            scheme.block_cols,
            "scales of " + std::to_string(scheme.block_rows) + " x " +
                std::to_string(scheme.block_cols)};
  }
  return {{rows, blocks_of(cols, scheme.group_size)},
          1,
          scheme.group_size,
          "groups of " + std::to_string(scheme.group_size)};
}

/// Returns the scheme that matches a weight's parts, from those that the configuration has for
/// different layers.
struct Composition {
  ScaleGridParts grid;
  std::string words;
};

/// The tensors of one weight.
struct CompressedWeight {
  std::string name;
  const CheckpointTensor* codes = nullptr;
  const CheckpointTensor* shape = nullptr;  // for a packed weight
  const CheckpointTensor* scales = nullptr;
  const CheckpointTensor* zeros = nullptr;
  const CheckpointTensor* groups = nullptr;
  std::int64_t rows = 0, cols = 0;

  bool is_packed() const { return shape != nullptr; }
};

/// Compressors up to 0.15 store only whole numbers per word; later ones pack densely. Both may take
/// the same number of words.
BitPacking packing_of(const WeightParts& parts, const CompressedWeight& weight, int bits) {
  const std::int64_t words = weight.codes->view.shape[1];
  const bool dense = packed_words(BitPacking::dense, bits, weight.cols) == words;
  const bool per_word = packed_words(BitPacking::per_word, bits, weight.cols) == words;
  if (!dense && !per_word) {
    parts.refuse(*weight.codes,
                 counted(words, "word per row does not fit ", "words per row do not fit ") +
                     counted(weight.cols, "number") + " of " + counted(bits, "bit"));
  }
  if (dense && per_word)
    return is_written_per_word(parts) ? BitPacking::per_word : BitPacking::dense;
  return dense ? BitPacking::dense : BitPacking::per_word;
}

void check_zeros(const WeightParts& parts, const CompressedWeight& weight,
                 const CompressedScheme& scheme, ScaleGridParts& grid, const Shape& scale_shape) {
  if (weight.zeros == nullptr) {
    parts.refuse(*weight.codes, "has no matching '" + weight.name + "_zero_point'");
  }
  grid.zeros = GridZeros{.tensor = weight.zeros->view};
  if (!weight.is_packed() || weight.zeros->view.dtype == DType::i8) {
    parts.check(*weight.zeros, {DType::i8}, scale_shape);
    return;
  }
  grid.zeros->bits = scheme.bits;
  grid.zeros->packing = grid.codes.packing;
  parts.check(*weight.zeros, {DType::i32},
              {packed_words(grid.codes.packing, scheme.bits, weight.rows), grid.groups.count});
}

Composition compose(const WeightParts& parts, const CompressedWeight& weight,
                    const CompressedScheme& scheme) {
  Composition out{.grid = {.rows = weight.rows,
                           .cols = weight.cols,
                           .codes = {.tensor = weight.codes->view},
                           .scales = weight.scales->view,
                           .dtype = weight.scales->view.dtype}};
  ScaleGridParts& grid = out.grid;
  const DType code_dtype = weight.codes->view.dtype;
  if (scheme.is_float == (weight.is_packed() || code_dtype == DType::i8)) {
    parts.refuse(*weight.codes, "dtype " + std::string(dtype_name(code_dtype)) +
                                    " does not match the configuration's type '" +
                                    (scheme.is_float ? "float'" : "int'"));
  }
  if (weight.is_packed()) {
    grid.codes.bits = scheme.bits;
    grid.codes.packing = packing_of(parts, weight, scheme.bits);
    out.words = "compressed-tensors " + std::to_string(scheme.bits) + "-bit, ";
    if (grid.codes.packing == BitPacking::per_word && 32 % scheme.bits != 0) {
      out.words += "integers packed in words, ";
    }
  } else {
    out.words = std::string(dtype_name(code_dtype)) + ", ";
  }
  const ScaleShape scale = scale_shape(scheme, weight.rows, weight.cols);
  grid.block_rows = scale.block_rows;
  grid.groups.columns_each = scale.block_cols;
  grid.groups.count = blocks_of(weight.cols, scale.block_cols);
  out.words += scale.words;
  parts.check_dtype(*weight.scales, {DType::f32, DType::f16, DType::bf16});
  const Shape& found = weight.scales->view.shape;
  const bool one = scheme.strategy == "tensor" && weight.scales->view.element_count() == 1;
  const bool flat = scheme.strategy == "channel" && found == Shape{weight.rows};
  if (!one && !flat) parts.check(*weight.scales, {weight.scales->view.dtype}, scale.shape);
  if (weight.is_packed() && weight.zeros != nullptr && scheme.is_symmetric) {
    parts.refuse(*weight.zeros, "exists, but the configuration specifies symmetric quantization");
  }
  // Old files may contain zero points for a symmetric scheme, all 0, next to int8 values.
  const bool has_zeros = weight.zeros != nullptr && weight.zeros->view.dtype == DType::i8;
  if (!scheme.is_symmetric || has_zeros) {
    check_zeros(parts, weight, scheme, grid, found);
    out.words += ", asymmetric";
  }
  if (scheme.has_group_order && weight.groups != nullptr) {
    parts.check(*weight.groups, {DType::i32}, {weight.cols});
    const ErrorParts place = parts.place_of(*weight.groups);
    grid.groups.listed = weight.groups->view;
    grid.groups.file = place.file;
    grid.groups.tensor = place.tensor;
  }
  return out;
}

void add_weight(WeightParts& parts, const CompressedWeight& weight,
                const std::vector<CompressedScheme>& schemes) {
  // A scheme selects its layers by classes and regular expressions. They are not evaluated, because
  // only one scheme of a model fits the shapes.
  const auto fitting = [&]() -> Composition {
    for (std::size_t index = 0; index + 1 < schemes.size(); ++index) {
      try {
        return compose(parts, weight, schemes[index]);
      } catch (const Error&) {
      }
    }
    return compose(parts, weight, schemes.back());
  };
  Composition made = fitting();
  parts.add({.name = weight.name,
             .dtype = made.grid.dtype,
             .shape = {weight.rows, weight.cols},
             .source = std::make_shared<ScaleGrid>(std::move(made.grid)),
             .stored_as = std::move(made.words)},
            {weight.codes, weight.scales, weight.shape, weight.zeros, weight.groups});
}

/// Reads weight_shape, because padding of the last word makes the number of columns ambiguous.
void read_shape(const WeightParts& parts, CompressedWeight& weight) {
  parts.check(*weight.shape, {DType::i64}, {2});
  const auto bytes = parts.bytes(*weight.shape);
  const auto size = [&](std::size_t at) {
    return static_cast<std::int64_t>(load_word(&bytes[at]) |
                                     std::uint64_t{load_word(&bytes[at + 4])} << 32);
  };
  weight.rows = size(0);
  weight.cols = size(8);
  const Shape& packed = weight.codes->view.shape;
  if (weight.rows != packed[0] || weight.cols < 1 || weight.cols > 32 * packed[1]) {
    parts.refuse(*weight.shape, "[" + std::to_string(weight.rows) + ", " +
                                    std::to_string(weight.cols) + "] does not match the shape of " +
                                    counted(packed[0], "row") + " of " +
                                    counted(packed[1], "word"));
  }
}

void compose_one(WeightParts& parts, const CheckpointTensor& codes, const std::string& name,
                 bool packed, const std::vector<CompressedScheme>& schemes) {
  if (!parts.has_all(codes, {name + "_scale"})) return;
  if (packed && !parts.has_all(codes, {name + "_shape"})) return;
  CompressedWeight weight{.name = name,
                          .codes = &codes,
                          .shape = packed ? parts.find(name + "_shape") : nullptr,
                          .scales = parts.find(name + "_scale"),
                          .zeros = parts.find(name + "_zero_point"),
                          .groups = parts.find(name + "_g_idx")};
  parts.check_axes(codes, 2);
  parts.check_dtype(codes, {codes.view.dtype});
  weight.rows = codes.view.shape[0];
  weight.cols = codes.view.shape[1];
  if (packed) read_shape(parts, weight);
  if (schemes.empty()) parts.refuse_config("has no config_groups with weights");
  add_weight(parts, weight, schemes);
}

}  // namespace

void compose_compressed_tensors(WeightParts& parts) {
  const std::vector<CompressedScheme> schemes = read_schemes(parts);
  for (const CheckpointTensor& tensor : parts.tensors()) {
    const auto packed = without_ending(tensor.name, "_packed");
    if (packed && packed->ends_with("weight")) {
      if (tensor.view.dtype != DType::i32) {
        parts.refuse_unread(tensor, "format '" + parts.text("format") + "' of compressed-tensors");
      }
      compose_one(parts, tensor, *packed, /*packed=*/true, schemes);
      continue;
    }
    const DTypeInfo& info = dtype_info(tensor.view.dtype);
    const bool is_code =
        tensor.view.dtype == DType::i8 || (info.bits == 8 && info.kind == DTypeClass::real);
    if (!is_code || !tensor.name.ends_with(".weight")) continue;
    const std::string scales = tensor.name + "_scale";
    if (parts.find(scales) == nullptr && !parts.is_elsewhere(scales)) continue;
    compose_one(parts, tensor, tensor.name, /*packed=*/false, schemes);
  }
}

}  // namespace attnscope
