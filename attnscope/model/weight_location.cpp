// Locates each projection in the tensor that stores it (fused, stacked, transposed), by the rules
// of the architecture. The family in families/ specifies which slice of a tensor belongs to which
// head.
#include <algorithm>
#include <string>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/quantized/quantized.h"
#include "attnscope/model/expert_and_mixer_rules.h"
#include "attnscope/model/head_tensors.h"
#include "attnscope/model/model.h"
#include "attnscope/model/tensor_names.h"

namespace attnscope {
namespace {

std::int64_t output_size(const Dimensions& dimensions, Role role) {
  return canonical_shape(dimensions, role).first;
}

/// Where the outputs of one role lie on the output axis of a tensor that may contain several roles.
struct OutputSlice {
  std::int64_t total = 0;       // outputs of the tensor
  std::int64_t first = 0;       // the first output of the role
  std::int64_t block = 0;       // consecutive outputs of the role
  std::int64_t block_step = 0;  // from the first output of one block to the next block's
  std::int64_t row_step = 1;    // from one output of a block to the next
};

OutputSlice output_slice(const WeightRule& rule, const Dimensions& dimensions) {
  const std::int64_t own = output_size(dimensions, rule.role);
  if (rule.fused.empty()) return {.total = own, .first = 0, .block = own, .block_step = own};

  std::int64_t repeats = rule.groups;
  if (rule.groups == kPerKvHead) repeats = dimensions.heads.kv_heads;
  if (rule.groups == kPerRow) repeats = own;
  if (rule.groups == kPerHead) repeats = dimensions.heads.heads;
  OutputSlice slice{.block = own / repeats};
  for (const Role part : rule.fused) {
    if (part == rule.role) slice.first = slice.block_step;
    slice.block_step += output_size(dimensions, part) / repeats;
  }
  slice.total = slice.block_step * repeats;
  if (rule.groups != kPerRow) return slice;
  return {.total = slice.total,
          .first = slice.first,
          .block = own,
          .block_step = slice.total,
          .row_step = slice.block_step};
}

/// Returns the expected shape; -1 for the free first axis of a stacked tensor.
Shape expected_shape(const WeightRule& rule, Storage storage, std::int64_t outputs,
                     std::int64_t inputs) {
  Shape shape = storage == Storage::out_by_in ? Shape{outputs, inputs} : Shape{inputs, outputs};
  if (rule.index) shape.insert(shape.begin(), -1);
  return shape;
}

/// Joins the last two axes (H, d) of a tensor, see WeightRule::splits_heads. Returns the tensor
/// itself if they are others, or not contiguous.
TensorView with_heads_joined(const TensorView& tensor, const HeadShape& heads, Role role) {
  const std::size_t axes = tensor.shape.size();
  const std::int64_t size = heads.inner_dim(role);
  const bool split = axes >= 2 && tensor.shape[axes - 2] == heads.count(role) &&
                     tensor.shape[axes - 1] == size &&
                     tensor.stride(axes - 2) == size * tensor.stride(axes - 1);
  if (!split) return tensor;
  TensorView joined = tensor;
  joined.strides.clear();
  for (std::size_t axis = 0; axis < axes; ++axis) {
    if (axis + 2 != axes) joined.strides.push_back(tensor.stride(axis));
  }
  joined.shape.pop_back();
  joined.shape.back() *= size;
  return joined;
}

/// Trailing axes of size 1 are ignored: Conv1d stores (outputs, inputs, 1).
bool shape_fits(const Shape& found, const Shape& expected) {
  if (found.size() < expected.size()) return false;
  const auto end = found.begin() + std::ssize(expected);
  return std::equal(found.begin(), end, expected.begin(),
                    [](std::int64_t size, std::int64_t wanted) {
                      return wanted == -1 || size == wanted;
                    }) &&
         std::all_of(end, found.end(), [](std::int64_t size) { return size == 1; });
}

/// For one tensor per head: the name of the first missing one. For other tensors: their own name.
std::string first_absent_head(const Checkpoint& checkpoint, const std::string& name,
                              std::int64_t heads) {
  for (std::int64_t head = 0; head < heads; ++head) {
    std::string own = name_of_head(name, head);
    if (checkpoint.find(own) == nullptr) return own;
  }
  return name;
}

std::string transposed_hint(Storage storage) {
  const bool by_rows = storage == Storage::out_by_in;
  return std::string("it is stored transposed: in its entry of 'weights', set \"storage\": \"") +
         (by_rows ? "in_by_out" : "out_by_in") + "\"";
}

std::string expected_text(const Shape& expected) {
  std::string text = shape_text(expected);
  const auto any = text.find("-1");
  return any == std::string::npos ? text : text.replace(any, 2, "any");
}

}  // namespace

Weight Model::locate(const WeightRule& rule, std::int64_t layer, const Dimensions& sizes) const {
  const std::string tensor_name =
      prefix_ + fill_pattern(rule.tensor, layer_numbers(dimensions(), layer));
  const std::string& method = spec_.quantization.method;
  const bool quantized = !method.empty() && !is_known_quantization(method);
  const auto not_read = [&]() -> std::string {
    if (!quantized) return "";
    return "quantized checkpoint: " + verbatim(method) + " is not supported";
  };
  const CheckpointTensor* tensor = checkpoint_->find(tensor_name);
  if (tensor == nullptr) {
    const std::string absent =
        first_absent_head(*checkpoint_, tensor_name, sizes.heads.count(rule.role));
    const std::string problem =
        "tensor '" + absent + "' is missing" + checkpoint_->missing_note(absent);
    if (quantized) {
      throw Error(ErrorKind::unsupported, {.file = checkpoint_->main_file().string(),
                                           .tensor = tensor_name,
                                           .layer = layer,
                                           .problem = verbatim(problem),
                                           .hint = not_read()});
    }
    return {.missing = problem};
  }

  const auto fail = [&](ErrorKind kind, const std::string& problem, std::string hint = "") {
    if (hint.empty()) hint = not_read();
    ErrorParts parts = checkpoint_->parts_of(*tensor, verbatim(problem), std::move(hint));
    parts.layer = layer;
    throw Error(kind, std::move(parts));
  };
  if (rule.groups > 1 && output_size(sizes, rule.role) % rule.groups != 0) {
    fail(ErrorKind::format, "the row count of '" + std::string(role_name(rule.role)) +
                                "' is not a multiple of its " + std::to_string(rule.groups) +
                                " groups");
  }
  const OutputSlice slice = output_slice(rule, sizes);
  const std::int64_t inputs = canonical_shape(sizes, rule.role).second;
  const Storage storage = tensor->is_linear ? Storage::out_by_in : rule.storage;
  Shape expected = expected_shape(rule, storage, slice.total, inputs);
  const bool concatenated = rule.concatenated && rule.index.has_value();
  if (concatenated) {
    expected.erase(expected.begin());
    expected.front() *= dimensions().experts;
  }
  const auto stored = [&](const TensorView& view) {
    return rule.splits_heads ? with_heads_joined(view, sizes.heads, rule.role) : view;
  };
  const TensorView view = stored(tensor->view);
  const Shape& found = view.shape;
  if (!shape_fits(found, expected) || (rule.index && !concatenated && *rule.index >= found[0])) {
    std::string problem = "shape " + shape_text(found) + ", expected " + expected_text(expected) +
                          " (from " + spec_.source + ")";
    if (rule.index && !concatenated && shape_fits(found, expected)) {
      problem = "shape " + shape_text(found) + " has no slice " + std::to_string(*rule.index);
    }
    // A layout file names no model types.
    const bool is_of_layout =
        spec_.architecture.model_types.empty() && spec_.architecture.stack.empty();
    const bool is_transposed =
        is_of_layout && !rule.index && shape_fits({found.rbegin(), found.rend()}, expected);
    fail(quantized ? ErrorKind::unsupported : ErrorKind::format, problem,
         is_transposed ? transposed_hint(rule.storage) : "");
  }
  const DTypeInfo& dtype = dtype_info(tensor->view.dtype);
  if (quantized && dtype.kind == DTypeClass::integer) {
    fail(ErrorKind::unsupported, "dtype " + std::string(dtype.name) + " has no real values");
  }

  const std::size_t axes = expected.size();
  const std::size_t output_axis = axes - (storage == Storage::out_by_in ? 2 : 1);
  const std::size_t input_axis = axes - (storage == Storage::out_by_in ? 1 : 2);
  const std::int64_t output_stride = view.stride(output_axis);
  const std::int64_t step_of_index = concatenated ? expected.front() / dimensions().experts : 1;
  const std::int64_t stack_offset = rule.index ? *rule.index * step_of_index * view.stride(0) : 0;

  Weight weight{.tensor = tensor,
                .matrix = {.tensor = tensor->view,
                           .rows = output_size(sizes, rule.role),
                           .cols = inputs,
                           .first = stack_offset + slice.first * output_stride,
                           .row_stride = slice.row_step * output_stride,
                           .col_stride = view.stride(input_axis),
                           .block_rows = slice.block,
                           .block_stride = slice.block_step * output_stride}};
  weight.bias = find_bias(rule, tensor_name, layer);
  if (weight.bias == nullptr) return weight;
  const TensorView bias = stored(weight.bias->view);
  Shape bias_shape = {rule.own_bias ? weight.matrix.rows : slice.total};
  if (rule.index) bias_shape.insert(bias_shape.begin(), found[0]);
  if (bias.shape != bias_shape) {
    throw Error(ErrorKind::format, wrong_shape(*weight.bias, bias_shape, layer));
  }
  const std::int64_t step = bias.stride(bias_shape.size() - 1);
  const std::int64_t start = rule.index ? *rule.index * bias.stride(0) : 0;
  weight.bias_column = {.tensor = bias,
                        .rows = weight.matrix.rows,
                        .cols = 1,
                        .first = start + (rule.own_bias ? 0 : slice.first * step),
                        .row_stride = rule.own_bias ? step : slice.row_step * step,
                        .block_rows = slice.block,
                        .block_stride = (rule.own_bias ? slice.block : slice.block_step) * step};
  return weight;
}

const CheckpointTensor* Model::find_bias(const WeightRule& rule, const std::string& weight,
                                         std::int64_t layer) const {
  if (rule.bias.empty()) return checkpoint_->find_first(bias_names(weight));
  const Site site = find(prefix_ + fill_pattern(rule.bias, layer_numbers(dimensions(), layer)));
  if (site.tensor != nullptr) return site.tensor;
  throw Error(ErrorKind::format, {.file = checkpoint_->main_file().string(),
                                  .layer = layer,
                                  .problem = verbatim(site.missing),
                                  .hint = "a bias setting in " + spec_.source});
}

// The rules that locate the matrices of each expert.
namespace {

constexpr std::string_view kExpertNumber = "{expert}";

bool is_one_each(const WeightRule& rule) {
  return rule.tensor.find(kExpertNumber) != std::string::npos;
}

const WeightRule* rule_of(const ExpertTensors& tensors, Role role) {
  for (const WeightRule& rule : tensors.weights) {
    if (rule.role == role) return &rule;
  }
  return nullptr;
}

std::string with_expert(std::string pattern, std::int64_t expert) {
  const std::size_t at = pattern.find(kExpertNumber);
  return at == std::string::npos
             ? pattern
             : pattern.replace(at, kExpertNumber.size(), std::to_string(expert));
}

}  // namespace

const ExpertTensors* Model::choose_expert_tensors() const {
  if (dimensions().experts == 0) return nullptr;
  const std::vector<ExpertTensors>& all = spec_.architecture.experts->tensors;
  for (std::int64_t layer = 0; layer < dimensions().layers; ++layer) {
    if (!spec_.has_experts(layer)) continue;
    for (const ExpertTensors& tensors : all) {
      const bool fits =
          std::any_of(tensors.weights.begin(), tensors.weights.end(), [&](const WeightRule& rule) {
            const std::string pattern = prefix_ + with_expert(rule.tensor, /*expert=*/0);
            return checkpoint_->find(fill_pattern(pattern, {.layer = layer})) != nullptr;
          });
      if (fits) return &tensors;
    }
  }
  return &all.front();  // the error about a missing tensor then uses the usual name
}

bool Model::describes_of_expert(Role role) const {
  return expert_tensors_ != nullptr && rule_of(*expert_tensors_, role) != nullptr;
}

Weight Model::expert_weight(std::int64_t layer, std::int64_t expert, Role role) const {
  const WeightRule* found = expert_tensors_ == nullptr ? nullptr : rule_of(*expert_tensors_, role);
  if (found == nullptr || !spec_.has_experts(layer)) {
    return {.missing = "layer " + std::to_string(layer) + " has no experts with a '" +
                       std::string(role_name(role)) + "'"};
  }
  WeightRule rule = *found;
  const Dimensions sizes = of_expert(dimensions());
  if (is_one_each(rule)) {
    rule.tensor = with_expert(rule.tensor, expert);
    return locate(rule, layer, sizes);
  }
  rule.index = expert;
  if (expert_tensors_->either_way) {
    const std::string name = prefix_ + fill_pattern(rule.tensor, {.layer = layer});
    const CheckpointTensor* tensor = checkpoint_->find(name);
    const auto inputs = canonical_shape(sizes, role).second;
    const bool is_stacked = tensor != nullptr && tensor->view.shape.size() == 3;
    const std::size_t usual = rule.storage == Storage::out_by_in ? 2 : 1;
    if (is_stacked && tensor->view.shape[usual] != inputs) {
      rule.storage = rule.storage == Storage::out_by_in ? Storage::in_by_out : Storage::out_by_in;
    }
  }
  return locate(rule, layer, sizes);
}

}  // namespace attnscope
