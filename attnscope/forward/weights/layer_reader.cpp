#include "attnscope/forward/weights/layer_reader.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "attnscope/forward/conformer.h"
#include "attnscope/model/head_tensors.h"
#include "attnscope/model/tensor_names.h"

namespace attnscope {

SharedLinear LayerReader::projections(std::int64_t layer, std::span<const Role> roles) {
  if (!model_.describes(roles.front())) {
    if (roles.front() == Role::gate) return nullptr;  // most MLPs have none
    refuse(model_.weight(layer, roles.front()).missing, layer);
  }
  std::vector<const CheckpointTensor*> key;
  for (const Role role : roles) key.push_back(model_.weight(layer, role).tensor);
  key.push_back(nullptr);
  for (const Role role : roles) key.push_back(model_.weight(layer, role).bias);
  auto& shared = shared_[{key, roles.front()}];
  if (shared != nullptr) return shared;

  std::vector<TensorMatrix> parts;
  std::vector<float> bias;
  for (const Role role : roles) {
    const Weight& weight = model_.weight(layer, role);
    if (weight.tensor == nullptr) refuse(weight.missing, layer);
    check_dtype(*weight.tensor);
    parts.push_back(weight.matrix);
    const auto rows = static_cast<std::size_t>(weight.matrix.rows);
    const std::size_t before = bias.size();
    if (weight.bias != nullptr) {
      check_dtype(*weight.bias);
      const std::vector<float> own = values(weight.bias_column);
      bias.insert(bias.end(), own.begin(), own.end());
    } else {
      require_none(layer, role, weight);
      bias.resize(before + rows, 0.0F);
    }
  }
  if (std::all_of(roles.begin(), roles.end(),
                  [&](Role role) { return model_.weight(layer, role).bias == nullptr; })) {
    bias.clear();
  }
  const bool copied = copies(parts);
  shared = make_linear(std::move(parts), std::move(bias), copied);
  for (const Role role : roles) {
    const CheckpointTensor& tensor = *model_.weight(layer, role).tensor;
    model_.checkpoint().check_intact(tensor);
    if (copied) model_.checkpoint().release(tensor);
  }
  return shared;
}

void LayerReader::require_none(std::int64_t layer, Role role, const Weight& weight) const {
  const auto& biased = spec_.layers[static_cast<std::size_t>(layer)].biased;
  if (std::find(biased.begin(), biased.end(), role) == biased.end()) return;
  const std::string& name = weight.tensor->name;
  refuse("the bias of '" + name + "' is missing", layer);
}

OptionalNorm LayerReader::head_norm(std::int64_t layer, Role role) const {
  const AttentionSpec& spec = spec_.layers[static_cast<std::size_t>(layer)].attention;
  const std::optional<NormSpec>& of = role == Role::query ? spec.query_norm : spec.key_norm;
  const HeadShape& heads = spec_.dimensions_of(layer).heads;
  if (spec.norm_axis == HeadNormAxis::head) return norm(of, layer, heads.head_dim);
  if (spec.norm_axis == HeadNormAxis::all_heads) return norm(of, layer, heads.total_dim(role));
  if (!of) return std::nullopt;
  if (of->tensor.find(kHeadMark) == std::string::npos) {
    return norm_of_shape(*of, layer, {heads.count(role), heads.head_dim});
  }
  NormWeights all{.spec = *of};
  for (std::int64_t head = 0; head < heads.count(role); ++head) {
    NormSpec own = *of;
    own.tensor = name_of_head(of->tensor, head);
    const OptionalNorm found = norm(own, layer, heads.head_dim);
    all.gain.insert(all.gain.end(), found->gain.begin(), found->gain.end());
    all.bias.insert(all.bias.end(), found->bias.begin(), found->bias.end());
  }
  return all;
}

MlaWeights LayerReader::read_mla_weights(std::int64_t layer, const MlaSpec& spec) {
  const MlaRanks& ranks = *spec_.dimensions.mla;
  const auto one = [&](Role role) { return projections(layer, std::span(&role, 1)); };
  MlaWeights out{.kv_down = one(Role::kv_down),
                 .kv_up = one(Role::kv_up),
                 .query_norm = norm(spec.query_norm, layer, ranks.query),
                 .kv_norm = norm_of_shape(spec.norm, layer, {ranks.key_value})};
  if (ranks.query == 0) {
    out.query = one(Role::query);
  } else {
    out.query_down = one(Role::query_down);
    out.query_up = one(Role::query_up);
  }
  return out;
}

IndexerWeights LayerReader::read_indexer(std::int64_t layer, const IndexerSpec& spec) const {
  const Dimensions& dimensions = spec_.dimensions;
  return {.query =
              linear(name_in(layer, spec.query), spec.heads * spec.head_dim, dimensions.mla->query),
          .key = linear(name_in(layer, spec.key), spec.head_dim, dimensions.width),
          .weights = linear(name_in(layer, spec.weights), spec.heads, dimensions.width),
          .key_norm = norm_of_shape(spec.key_norm, layer, {spec.head_dim})};
}

std::string LayerReader::name_in(std::int64_t layer, const std::string& pattern) const {
  return model_.prefix() + fill_pattern(pattern, layer_numbers(spec_.dimensions, layer));
}

void LayerReader::read_mixing(std::int64_t layer, LayerWeights& out) {
  const LayerSpec& spec = spec_.layers[static_cast<std::size_t>(layer)];
  if (spec.mixer) out.mixer = mixers_.read(layer, *spec.mixer);
  if (!spec_.dimensions.attends(layer)) return;
  out.query_norm = head_norm(layer, Role::query);
  const bool shares = spec_.sharing_of(layer).from.has_value();
  if (!shares) out.key_norm = head_norm(layer, Role::key);
  out.value_norm =
      norm(spec.attention.value_norm, layer, spec_.dimensions_of(layer).heads.value_dim);
  if (spec.attention.mla) {
    out.mla = read_mla_weights(layer, *spec.attention.mla);
  } else {
    constexpr std::array kQkv = {Role::query, Role::key, Role::value};
    out.qkv = projections(layer, shares ? std::span(kQkv).first(1) : std::span(kQkv));
  }
  const std::optional<IndexerSpec>& indexer = spec.attention.indexer;
  if (indexer && !indexer->shared) out.indexer = read_indexer(layer, *indexer);
  const auto one = [&](Role role) { return projections(layer, std::span(&role, 1)); };
  if (model_.describes(Role::attention_gate)) out.attention_gate = one(Role::attention_gate);
  out.output = one(Role::output);
  score_biases_.read(layer, out);
}

LayerWeights LayerReader::read(std::int64_t layer) {
  const LayerSpec& spec = spec_.layers[static_cast<std::size_t>(layer)];
  const auto own = [&](const std::optional<NormSpec>& of) {
    return norm(of, layer, spec_.dimensions_of(layer).width);
  };
  const Dimensions& dimensions = spec_.dimensions_of(layer);
  const std::int64_t streams = spec.block ? dimensions.attention_streams : 1;
  LayerWeights out{.attention_input = norm(spec.attention_input, layer, streams * dimensions.width),
                   .attention_output = own(spec.attention_output),
                   .attention_sum = own(spec.attention_sum),
                   .mlp_input = own(spec.mlp_input),
                   .mlp_output = own(spec.mlp_output),
                   .mlp_sum = own(spec.mlp_sum),
                   .attention_heads =
                       norm(spec.attention_heads, layer, dimensions.heads.total_dim(Role::output)),
                   .mlp_hidden = norm(spec.mlp_hidden, layer, dimensions.mlp_width)};
  read_mixing(layer, out);
  const auto one = [&](Role role) { return projections(layer, std::span(&role, 1)); };
  if (spec.experts) {
    out.experts = read_experts_of(layer, *spec.experts);
  } else if (spec_.architecture.has_mlp && spec_.dimensions.has_mlp(layer)) {
    out.gate = one(Role::gate);
    out.up = one(Role::up);
    out.down = one(Role::down);
  }
  if (spec.attention.value_embedding) {
    const ValueEmbeddingSpec& value = *spec.attention.value_embedding;
    out.value_embedding =
        ValueEmbedding{.of_value = scalar(value.of_value),
                       .of_table = scalar(value.of_table),
                       .table = table_under_prefix(value.table, spec_.dimensions.width)};
    const RowTable& table = out.value_embedding->table;
    if (table.tensor != nullptr && table.rows < tokens_) {
      refuse("'" + table.tensor->name + "' has fewer rows than the model has tokens", layer);
    }
  }
  if (spec.input) {
    out.input = LayerInput{.skip_from = spec.input->skip_from,
                           .skip = scalar(spec.input->skip),
                           .of_stream = scalar(spec.input->of_stream),
                           .of_embedding = scalar(spec.input->of_embedding)};
  }
  if (spec.own_input) out.own_input = read_own_input(*spec.own_input, layer);
  if (spec.block) out.block = read_block(*spec.block, layer);
  if (spec.conformer) out.conformer = read_conformer(*this, *spec.conformer, layer);
  if (spec.laurel) out.laurel = read_laurel(*spec.laurel, layer);
  if (spec.merging) out.merging = read_merging(*spec.merging, layer);
  if (spec_.stream.altup) out.altup = read_altup(*spec_.stream.altup, layer);
  out.output_factor = output_factor(layer, spec.output_factor);
  out.attention_factors = factors(layer, spec.attention_factors, spec.attention_factor);
  out.mlp_factors = factors(layer, spec.mlp_factors, spec.mlp_factor);
  if (spec.convolution) out.convolution = read_convolution(*spec.convolution, layer);
  return out;
}

CrossWeights LayerReader::read_cross(std::int64_t layer) {
  const LayerSpec& spec = spec_.layers[static_cast<std::size_t>(layer)];
  const std::int64_t width = spec_.dimensions.width;
  constexpr std::array kQuery = {Role::query}, kOutput = {Role::output};
  constexpr std::array kKeysAndValues = {Role::key, Role::value};
  return {.input = norm(spec.attention_input, layer, width),
          .sum = norm(spec.attention_sum, layer, width),
          .query = projections(layer, kQuery),
          .output = projections(layer, kOutput),
          .keys_and_values = projections(layer, kKeysAndValues),
          .stored_output = model_.weight(layer, Role::output).matrix,
          .heads = spec_.dimensions.heads,
          .scale = static_cast<float>(spec.attention.scale)};
}

PerLayerInputWeights LayerReader::read_own_input(const PerLayerInputSpec& spec,
                                                 std::int64_t layer) const {
  const std::int64_t width = spec_.dimensions.width, all = spec_.dimensions.layers * spec.width;
  PerLayerInputWeights out{.width = spec.width,
                           .table = table_under_prefix(spec.table, all),
                           .gate = linear(name_in(layer, spec.gate), spec.width, width),
                           .up = linear(name_in(layer, spec.up), width, spec.width),
                           .projection_norm = norm(spec.projection_norm, 0, spec.width),
                           .norm = norm(spec.norm, layer, width)};
  if (out.table.rows < (spec.covers_all ? tokens_ : 1)) {
    refuse("'" + out.table.tensor->name + "' has fewer rows than the model has tokens", layer);
  }
  out.table.first_col = layer * spec.width;
  out.table.cols = spec.width;
  const std::string name = model_.prefix() + spec.projection;
  TensorMatrix rows = whole_matrix(need(model_.find(name, Shape{all, width}), layer).view);
  rows.first = rows.row_start(layer * spec.width);
  rows.rows = rows.block_rows = spec.width;
  out.projection = make_linear({std::move(rows)}, {}, /*copied=*/false);
  return out;
}

AltUpWeights LayerReader::read_altup(const AltUpSpec& spec, std::int64_t layer) const {
  const std::int64_t width = spec_.dimensions.width, streams = spec.streams;
  const std::string place = name_in(layer, spec.place);
  AltUpWeights out{
      .router_norm = norm_of_shape(spec.router_norm, layer, {width}),
      .router = linear(place + ".modality_router.weight", streams, width),
      .predict = linear(place + ".prediction_coefs.weight", streams * streams, streams),
      .correct = linear(place + ".correction_coefs.weight", streams, streams)};
  for (float& gain : out.router_norm.gain) gain /= static_cast<float>(width);
  if (spec.scaled) out.active_scale = factors(layer, spec.place + ".correct_output_scale", 1);
  return out;
}

SharedBlockWeights LayerReader::read_block(const SharedBlockSpec& spec, std::int64_t layer) const {
  const Dimensions& dimensions = spec_.dimensions;
  const std::int64_t width = dimensions.width, rank = spec.adapter_rank;
  const auto adapter = [&](const std::string& pattern, Role role) {
    const auto [outputs, inputs] = canonical_shape(dimensions, role);
    const std::string name = name_in(layer, pattern);
    return AdapterWeights{.down = linear(name + ".0.weight", rank, inputs),
                          .up = linear(name + ".1.weight", outputs, rank)};
  };
  SharedBlockWeights out{
      .projection = linear(name_in(layer, spec.projection), width, width),
      .mixer_norm = norm_of_shape(spec.mixer_norm, layer, {width}),
      .qkv = {},
      .mlp_down = linear(name_in(layer, spec.mlp_adapter) + ".0.weight", rank, width),
      .gate_up = nullptr,
      .up_up = nullptr};
  if (!spec.query_adapter.empty()) {
    out.qkv = {adapter(spec.query_adapter, Role::query), adapter(spec.key_adapter, Role::key),
               adapter(spec.value_adapter, Role::value)};
  }
  const std::int64_t half = dimensions.mlp_width;
  const std::string name = name_in(layer, spec.mlp_adapter) + ".1.weight";
  const CheckpointTensor& both = need(model_.find(name, Shape{2 * half, rank}), layer);
  const auto rows = [&](std::int64_t first) {
    TensorMatrix part = whole_matrix(both.view);
    part.first = part.row_start(first);
    part.rows = part.block_rows = half;
    return make_linear({std::move(part)}, {}, /*copied=*/false);
  };
  out.gate_up = rows(0);
  out.up_up = rows(half);
  return out;
}

LaurelWeights LayerReader::read_laurel(const LaurelSpec& spec, std::int64_t layer) const {
  const std::int64_t width = spec_.dimensions.width;
  return {.left = linear(name_in(layer, spec.left), spec.rank, width),
          .right = linear(name_in(layer, spec.right), width, spec.rank),
          .norm = norm_of_shape(spec.norm, layer, {width})};
}

PatchMergingWeights LayerReader::read_merging(const PatchMergingSpec& spec,
                                              std::int64_t layer) const {
  const std::int64_t from = 4 * spec_.dimensions_of(layer).width;
  const std::int64_t to = spec_.dimensions_of(layer + 1).width;
  return {.projection = linear(name_in(layer, spec.projection), to, from),
          .norm = norm_of_shape(spec.norm, layer, {spec.norm_last ? to : from}),
          .norm_last = spec.norm_last};
}

float LayerReader::output_factor(std::int64_t layer, const std::string& pattern) const {
  if (pattern.empty()) return 1;
  const Site site = model_.find(name_in(layer, pattern), Shape{1});
  return site.tensor == nullptr ? 1 : values(need(site, layer)).front();
}

std::vector<float> LayerReader::factors(std::int64_t layer, const std::string& pattern,
                                        double factor) const {
  const std::int64_t width = spec_.dimensions.width;
  std::vector<float> out;
  if (!pattern.empty()) {
    out = values(need(model_.find(name_in(layer, pattern), Shape{width}), layer));
  } else if (factor != 1) {
    out.assign(static_cast<std::size_t>(width), 1);
  }
  for (float& value : out) value *= static_cast<float>(factor);
  return out;
}

ConvolutionWeights LayerReader::read_convolution(const ConvolutionSpec& spec,
                                                 std::int64_t layer) const {
  const std::int64_t width = spec_.dimensions.width;
  const std::string name = model_.prefix() + spec.tensor;
  const CheckpointTensor& tensor = need(model_.find(name, Shape{width, width, spec.kernel}), layer);
  TensorMatrix taps{.tensor = tensor.view,
                    .rows = width,
                    .cols = width * spec.kernel,
                    .row_stride = tensor.view.stride(0),
                    .col_stride = tensor.view.stride(2),
                    .block_rows = width};
  if (tensor.view.stride(1) != spec.kernel * taps.col_stride) {
    refuse("'" + name + "' is not stored in row-major order", layer);
  }
  const CheckpointTensor* bias = model_.checkpoint().find_first(bias_names(name));
  std::vector<float> of_outputs;
  if (bias != nullptr) of_outputs = values(need(model_.find(bias->name, Shape{width}), layer));
  return {.kernel = spec.kernel,
          .taps = make_linear({std::move(taps)}, std::move(of_outputs), /*copied=*/false),
          .norm = norm(spec.norm, layer, width),
          .activation = spec.activation};
}

}  // namespace attnscope
