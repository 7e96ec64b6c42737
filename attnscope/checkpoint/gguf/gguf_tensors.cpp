#include "attnscope/checkpoint/gguf/gguf_tensors.h"

#include <algorithm>
#include <array>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/gguf/block_source.h"
#include "attnscope/tensor/rearranged.h"

namespace attnscope {
namespace {

constexpr std::string_view kHead = "output.weight";

/// DeepSeek-V3 has 44,544 expert matrices, Kimi-K2 69,120.
constexpr std::size_t kMaxNumbered = 300'000;

/// Tensors that contain numbers of config.json.
constexpr std::array<std::string_view, 3> kRopeTensors = {
    "rope_freqs.weight", "rope_factors_short.weight", "rope_factors_long.weight"};

/// For the whole model, or one per layer, as in some files.
bool is_rope_tensor(std::string_view name) {
  const auto of_layer = layer_tensor_name(name);
  const std::string_view own = of_layer ? of_layer->rest : name;
  return std::find(kRopeTensors.begin(), kRopeTensors.end(), own) != kRopeTensors.end();
}

/// The subject of an error: a tensor of a file.
struct TensorLocation {
  const GgufFile& file;
  const std::string& name;

  [[noreturn]] void refuse(ErrorKind kind, std::string problem) const {
    throw Error(kind, {.file = file.name, .tensor = name, .problem = std::move(problem)});
  }
};

/// Reordered values are computed as float32.
void check_reordered(const TensorView& stored, const TensorLocation& location) {
  if (dtype_info(stored.dtype).kind != DTypeClass::real || stored.dtype == DType::f64) {
    location.refuse(ErrorKind::unsupported, "rows of " + std::string(stored.storage_name()) +
                                                " that llama.cpp has reordered are not supported");
  }
}

/// Returns a run of items along the first axis of a tensor that is not empty.
GgufTensor run_of_rows(const GgufTensor& tensor, std::int64_t first, std::int64_t rows) {
  GgufTensor out = tensor;
  const auto row_bytes = tensor.bytes.size() / static_cast<std::size_t>(tensor.shape[0]);
  out.bytes = tensor.bytes.subspan(static_cast<std::size_t>(first) * row_bytes,
                                   static_cast<std::size_t>(rows) * row_bytes);
  out.shape[0] = rows;
  return out;
}

/// Returns item `index` of the first axis.
GgufTensor item_of(const GgufTensor& tensor, std::int64_t index) {
  GgufTensor out = run_of_rows(tensor, index, 1);
  out.shape.erase(out.shape.begin());
  return out;
}

/// Restores queries, key and value of each key/value head from a tensor of all Q, all K, all V.
TensorView of_kv_heads(const GgufTensor& tensor, const GgufHeads& heads,
                       const TensorLocation& location, bool big_endian) {
  const std::int64_t rows = tensor.shape[0], groups = heads.kv_heads;
  const std::int64_t sharing = heads.heads / groups;  // query heads per key head
  const std::int64_t head = rows / (groups * (sharing + 2));
  if (heads.heads % groups != 0 || rows == 0 || head * groups * (sharing + 2) != rows) {
    location.refuse(ErrorKind::format, counted(rows, "row") + " cannot be divided evenly among " +
                                           counted(heads.heads, "head") + " and " +
                                           counted(groups, "kv head"));
  }
  const std::int64_t keys = heads.heads * head, values = keys + groups * head;
  std::vector<RowPart> parts;
  const auto take = [&](std::int64_t first, std::int64_t count) {
    parts.push_back({.stored = view_of(run_of_rows(tensor, first, count), big_endian)});
  };
  for (std::int64_t group = 0; group < groups; ++group) {
    take(group * sharing * head, sharing * head);
    take(keys + group * head, head);
    take(values + group * head, head);
  }
  return one_after_another(std::move(parts));
}

/// Restores queries, keys, values and gates of each key head from two tensors: one with all
/// queries, keys and values, and one with all gates.
std::vector<RowPart> rows_of_key_heads(const GgufTensor& all, const GgufTensor& gates,
                                       const GgufLinearHeads& heads, const TensorLocation& location,
                                       bool big) {
  const std::int64_t keys = heads.key_heads * heads.key_dim, own = heads.values_of_key_head();
  if (all.shape[0] != 2 * keys + heads.values || gates.shape[0] != heads.values) {
    location.refuse(ErrorKind::format, "its shape and that of the gates of the same layer, " +
                                           shape_text(all.shape) + " and " +
                                           shape_text(gates.shape) + ", do not match " +
                                           counted(heads.key_heads, "key head") + " and " +
                                           counted(heads.value_heads, "value head"));
  }
  std::vector<RowPart> rows;
  const auto take = [&](const GgufTensor& from, std::int64_t first, std::int64_t count) {
    rows.push_back({.stored = view_of(run_of_rows(from, first, count), big)});
  };
  for (std::int64_t head = 0; head < heads.key_heads; ++head) {
    take(all, head * heads.key_dim, heads.key_dim);
    take(all, keys + head * heads.key_dim, heads.key_dim);
    take(all, 2 * keys + head * own, own);
    take(gates, head * own, own);
  }
  return rows;
}

/// The order that makes value heads with the same key head adjacent, given that the first of every
/// key head come first. `rows`: of all value heads.
RowOrder order_of_values(const GgufLinearHeads& heads, std::int64_t rows) {
  return {.groups = 1,
          .outer = heads.key_heads,
          .inner = heads.value_heads / heads.key_heads,
          .run = rows / heads.value_heads};
}

bool is_of_values(Conversion conversion) {
  using enum Conversion;
  return conversion == value_rows || conversion == value_rows_after_keys ||
         conversion == value_channels || conversion == value_columns;
}

/// Restores value heads of linear attention from llama.cpp's order.
TensorView of_value_heads(const GgufTensor& tensor, Conversion conversion,
                          const GgufLinearHeads& heads, const TensorLocation& location,
                          bool big_endian) {
  const TensorView stored = view_of(tensor, big_endian);
  const bool by_columns = conversion == Conversion::value_columns;
  const bool after_keys =
      conversion == Conversion::value_rows_after_keys || conversion == Conversion::value_channels;
  const std::int64_t keys = after_keys ? 2 * heads.key_heads * heads.key_dim : 0;
  const std::size_t axes = stored.shape.size();
  const bool has_axes = axes == 2 || (axes == 1 && conversion == Conversion::value_rows);
  const std::int64_t values = has_axes ? stored.shape[by_columns ? 1 : 0] - keys : 0;
  if (values <= 0 || values % heads.value_heads != 0) {
    location.refuse(ErrorKind::format, "shape " + shape_text(stored.shape) +
                                           " cannot be divided evenly among " +
                                           counted(heads.value_heads, "value head"));
  }
  check_reordered(stored, location);
  const RowOrder order = order_of_values(heads, values);
  if (by_columns) return with_columns_in_order(stored, order);
  if (!after_keys) return with_rows_in_order(stored, order);
  TensorView out =
      one_after_another({{.stored = view_of(run_of_rows(tensor, 0, keys), big_endian)},
                         {.stored = with_rows_in_order(
                              view_of(run_of_rows(tensor, keys, values), big_endian), order)}});
  if (conversion == Conversion::value_channels) out.shape.insert(out.shape.begin() + 1, 1);
  return out;
}

/// The order in which the rows of a converted tensor are stored.
RowOrder order_of(Conversion conversion, const GgufHeads& heads, std::int64_t rows) {
  if (conversion == Conversion::heads_of_blocks) {
    return {.groups = 1, .outer = heads.heads, .inner = 3, .run = rows / (3 * heads.heads)};
  }
  const std::int64_t count = conversion == Conversion::query_pairs ? heads.heads : heads.kv_heads;
  return {.groups = count, .outer = 2, .inner = rows / (2 * count), .run = 1};
}

TensorView reverted(const GgufTensor& tensor, Conversion conversion, const GgufHeads& heads,
                    const TensorLocation& location, bool big_endian) {
  TensorView stored = view_of(tensor, big_endian);
  if (conversion == Conversion::none || stored.dtype == DType::packed) return stored;
  if (is_of_values(conversion)) {
    if (heads.linear.key_heads != heads.linear.value_heads) {
      return of_value_heads(tensor, conversion, heads.linear, location, big_endian);
    }
    if (conversion != Conversion::value_channels) return stored;
    conversion = Conversion::one_channel;
  }
  const std::size_t axes = stored.shape.size();
  if (conversion == Conversion::one_row) {
    if (axes == 1) stored.shape.insert(stored.shape.begin(), 1);
    return stored;
  }
  if (conversion == Conversion::one_channel) {
    if (axes == 2) stored.shape.insert(stored.shape.begin() + 1, 1);
    return stored;
  }
  const bool of_two = conversion == Conversion::turned || conversion == Conversion::after_padding;
  if (axes != 2 && (of_two || axes != 1)) {
    location.refuse(ErrorKind::format,
                    "shape " + shape_text(stored.shape) + " does not have two dimensions");
  }
  if (conversion == Conversion::turned) return transposed(stored);
  const bool grouped = conversion == Conversion::heads_of_blocks && heads.kv_heads != heads.heads;
  if (grouped && heads.kv_heads == 1) return stored;  // nothing to reorder
  check_reordered(stored, location);
  if (conversion == Conversion::after_padding) {
    return one_after_another(
        {{.stored = rows_of_zeros(stored, heads.padding_rows)}, {.stored = stored}});
  }
  if (grouped && axes == 2) return of_kv_heads(tensor, heads, location, big_endian);
  if (grouped) {
    location.refuse(ErrorKind::unsupported,
                    "biases of grouped heads that llama.cpp has reordered are not supported");
  }
  const RowOrder order = order_of(conversion, heads, stored.shape[0]);
  if (order.rows() != stored.shape[0]) {
    location.refuse(ErrorKind::format, counted(stored.shape[0], "row") +
                                           " cannot be divided evenly among " +
                                           counted(heads.heads, "head"));
  }
  return with_rows_in_order(stored, order);
}

bool has_axes(const GgufTensor& tensor, std::size_t axes) {
  return tensor.shape.size() == axes && std::all_of(tensor.shape.begin(), tensor.shape.end(),
                                                    [](std::int64_t size) { return size > 0; });
}

/// Returns the name of another tensor of the same layer.
std::string beside(std::string_view layer, std::string_view rest) {
  return "blk." + std::string(layer) + "." + std::string(rest);
}

}  // namespace

GgufTensors::GgufTensors(std::span<const GgufFile> parts, const GgufFamily& family,
                         const GgufHeads& heads, bool tied)
    : family_(family), heads_(heads), tied_(tied) {
  for (const GgufFile& part : parts) {
    for (const GgufTensor& tensor : part.tensors) by_name_.emplace(tensor.name, &tensor);
  }
  for (const GgufFile& part : parts) {
    for (const GgufTensor& tensor : part.tensors) {
      const auto name = layer_tensor_name(tensor.name);
      for (const GgufJoin& join : family.joins) {
        if (!name || name->rest != join.first || !joined(part, tensor)) continue;
        seconds_.insert(beside(name->layer, join.second));
      }
    }
  }
}

std::optional<NamedTensor> GgufTensors::joined(const GgufFile& part,
                                               const GgufTensor& tensor) const {
  const auto name = layer_tensor_name(tensor.name);
  const auto join =
      std::find_if(family_.joins.begin(), family_.joins.end(),
                   [&](const GgufJoin& own) { return name && own.first == name->rest; });
  if (join == family_.joins.end()) return std::nullopt;
  const std::string second_name = beside(name->layer, join->second);
  const auto found = by_name_.find(second_name);
  const std::size_t axes = join->order == GgufJoin::Order::heads ? 3 : 2;
  if (found == by_name_.end() || !has_axes(tensor, axes)) return std::nullopt;
  const GgufTensor* second = found->second;
  if (!has_axes(*second, axes)) return std::nullopt;
  const bool big = part.big_endian;
  for (const GgufTensor* own : {&tensor, second}) {
    const TensorView stored = view_of(*own, big);
    if (stored.dtype == DType::packed) return std::nullopt;
    check_reordered(stored, {part, own->name});
  }
  const auto differ = [&](const std::string& what) {
    const std::string shapes = shape_text(tensor.shape) + " and " + shape_text(second->shape);
    TensorLocation{part, tensor.name}.refuse(
        ErrorKind::format,
        "its shape and the shape of '" + second_name + "', " + shapes + ", differ in " + what);
  };
  std::vector<RowPart> rows;
  if (join->order == GgufJoin::Order::key_heads) {
    if (tensor.shape[1] != second->shape[1]) differ("columns");
    rows = rows_of_key_heads(tensor, *second, heads_.linear, {part, tensor.name}, big);
  } else if (join->order == GgufJoin::Order::heads) {
    if (tensor.shape[0] != heads_.heads) {
      TensorLocation{part, tensor.name}.refuse(
          ErrorKind::format, "has " + counted(tensor.shape[0], "head") +
                                 ", but the file specifies " + std::to_string(heads_.heads));
    }
    if (tensor.shape[0] != second->shape[0]) differ("heads");
    if (tensor.shape[1] != second->shape[2]) differ("columns");
    for (std::int64_t head = 0; head < tensor.shape[0]; ++head) {
      rows.push_back({.stored = view_of(item_of(tensor, head), big), .transposed = true});
      rows.push_back({.stored = view_of(item_of(*second, head), big)});
    }
  } else {
    if (tensor.shape[1] != second->shape[1]) differ("columns");
    rows = {{.stored = view_of(tensor, big)}, {.stored = view_of(*second, big)}};
  }
  return NamedTensor{
      std::string(family_.layer_prefix) + std::string(name->layer) + "." + join->transformers,
      one_after_another(std::move(rows))};
}

void GgufTensors::add_numbered(const GgufFile& part, const GgufTensor& tensor,
                               const std::string& name, std::vector<NamedTensor>& out) {
  constexpr std::string_view kPlace = "{number}";
  const TensorLocation location{part, tensor.name};
  const bool empty = std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end();
  if (tensor.shape.size() < 2 || empty) {
    location.refuse(ErrorKind::format,
                    "shape " + shape_text(tensor.shape) + " contains no stacked tensors");
  }
  const std::int64_t count = tensor.shape[0];
  if (tensor.name.find("_exps.") != std::string::npos && heads_.experts.value_or(count) != count) {
    location.refuse(ErrorKind::format, "has " + counted(count, "expert") +
                                           ", but the file specifies " +
                                           std::to_string(*heads_.experts));
  }
  numbered_ += static_cast<std::size_t>(count);
  if (numbered_ > kMaxNumbered) {
    location.refuse(ErrorKind::unsupported, "together with earlier tensors, there are more than " +
                                                std::to_string(kMaxNumbered) +
                                                " expert matrices, which is not supported");
  }
  const std::size_t at = name.find(kPlace);
  for (std::int64_t index = 0; index < count; ++index) {
    std::string own = name;
    own.replace(at, kPlace.size(), std::to_string(index));
    out.push_back({std::move(own), view_of(item_of(tensor, index), part.big_endian)});
  }
}

std::vector<NamedTensor> GgufTensors::of_part(const GgufFile& part) {
  std::vector<NamedTensor> out;
  for (const GgufTensor& tensor : part.tensors) {
    if (is_rope_tensor(tensor.name) || (tied_ && tensor.name == kHead)) continue;
    if (seconds_.contains(tensor.name)) continue;
    if (auto whole = joined(part, tensor)) {
      out.push_back(std::move(*whole));
      continue;
    }
    const auto place = renamed(family_, tensor.name);
    if (!place) {
      ++unknown_;
      out.push_back({tensor.name, view_of(tensor, part.big_endian)});
    } else if (place->conversion == Conversion::numbered) {
      add_numbered(part, tensor, place->name, out);
    } else {
      out.push_back({place->name, reverted(tensor, place->conversion, heads_, {part, tensor.name},
                                           part.big_endian)});
    }
  }
  return out;
}

}  // namespace attnscope
