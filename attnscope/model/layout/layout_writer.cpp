#include "attnscope/model/layout/layout_writer.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <vector>

namespace attnscope {
namespace {

using nlohmann::ordered_json;

ordered_json names_of(const std::vector<Role>& roles) {
  ordered_json names = ordered_json::array();
  for (const Role role : roles) names.push_back(std::string(role_name(role)));
  return names;
}

ordered_json entry_of(const WeightRule& rule) {
  ordered_json entry = {{"role", std::string(role_name(rule.role))}, {"tensor", rule.tensor}};
  if (rule.storage == Storage::in_by_out) entry["storage"] = "in_by_out";
  if (!rule.fused.empty()) entry["fused"] = names_of(rule.fused);
  if (rule.groups == kPerKvHead) entry["order"] = "per_kv_head";
  if (rule.groups == kPerHead) entry["order"] = "per_head";
  if (rule.groups == kPerRow) entry["order"] = "alternating";
  if (rule.groups > 1) entry["groups"] = rule.groups;
  if (rule.index) entry["index"] = *rule.index;
  if (!rule.bias.empty()) entry["bias"] = rule.bias;
  return entry;
}

ordered_json norms_of(const ModelSpec& spec) {
  const LayerSpec& layer = spec.layers.front();
  const std::optional<NormSpec>& usual =
      layer.attention_input ? layer.attention_input : layer.attention_sum;
  ordered_json norms;
  if (!usual) return norms;
  norms = {{"kind", usual->kind == NormKind::rms ? "rms" : "layer"}, {"epsilon", usual->epsilon}};
  if (usual->gain_offset != 0) norms["gain_offset"] = usual->gain_offset;
  if (usual->kind == NormKind::layer && !usual->biased) norms["biased"] = false;
  const auto add = [&](const char* field, const std::optional<NormSpec>& norm) {
    if (norm && norm->has_gain()) norms[field] = norm->tensor;
  };
  add("attention_input", layer.attention_input);
  add("attention_output", layer.attention_output);
  add("attention_sum", layer.attention_sum);
  add("mlp_input", layer.mlp_input);
  add("mlp_output", layer.mlp_output);
  add("mlp_sum", layer.mlp_sum);
  add("last", spec.stream.last_norm);
  const AttentionSpec& attention = layer.attention;
  add("query", attention.query_norm);
  add("key", attention.key_norm);
  if (!attention.query_norm) return norms;
  if (attention.norm_axis == HeadNormAxis::each_head) norms["head_axis"] = "each_head";
  if (attention.norm_axis == HeadNormAxis::all_heads) norms["head_axis"] = "all_heads";
  if (attention.query_norm->biased != usual->biased) {
    norms["heads_biased"] = attention.query_norm->biased;
  }
  return norms;
}

/// Writes the window size, and the layers with a window if not all have one.
ordered_json window_of(const ModelSpec& spec) {
  ordered_json window;
  ordered_json layers = ordered_json::array();
  for (std::size_t layer = 0; layer < spec.layers.size(); ++layer) {
    const MaskSpec& mask = spec.layers[layer].attention.mask;
    if (!mask.reach && !mask.chunk) continue;
    layers.push_back(layer);
    // If attention is bidirectional, a layout's window extends half of its size to each side.
    window["size"] = mask.chunk ? *mask.chunk : mask.causal ? *mask.reach + 1 : 2 * *mask.reach;
    if (mask.chunk) window["chunked"] = true;
  }
  if (!layers.empty() && layers.size() < spec.layers.size()) window["layers"] = layers;
  return window;
}

ordered_json attention_of(const ModelSpec& spec) {
  const AttentionSpec& attention = spec.layers.front().attention;
  ordered_json out;
  const double usual = 1 / std::sqrt(static_cast<double>(spec.dimensions.heads.head_dim));
  if (attention.scale != usual) out["scale"] = attention.scale;
  if (attention.soft_cap) out["soft_cap"] = *attention.soft_cap;
  if (ordered_json window = window_of(spec); !window.is_null()) out["window"] = std::move(window);
  return out;
}

ordered_json scaling_fields(const Rope& rope) {
  ordered_json out = {{"rope_type", rope.scaling_name}};
  const auto add = [&](const char* field, const std::optional<double>& value) {
    if (value) out[field] = *value;
  };
  const Rope usual;
  add("factor", rope.factor);
  if (rope.original_context != rope.context) {
    out["original_max_position_embeddings"] = rope.original_context;
  }
  const auto add_unusual = [&](const char* field, double value, double standard) {
    if (value != standard) out[field] = value;
  };
  add_unusual("low_freq_factor", rope.low_freq_factor, usual.low_freq_factor);
  add_unusual("high_freq_factor", rope.high_freq_factor, usual.high_freq_factor);
  add_unusual("beta_fast", rope.beta_fast, usual.beta_fast);
  add_unusual("beta_slow", rope.beta_slow, usual.beta_slow);
  if (!rope.truncate) out["truncate"] = false;
  add("mscale", rope.mscale);
  add("mscale_all_dim", rope.mscale_all_dim);
  add("attention_factor", rope.attention_factor);
  if (!rope.short_factor.empty()) out["short_factor"] = rope.short_factor;
  if (!rope.long_factor.empty()) out["long_factor"] = rope.long_factor;
  return out;
}

ordered_json rope_of(const ModelSpec& spec) {
  const Rope* rope = nullptr;
  ordered_json rotated = ordered_json::array();
  for (std::size_t layer = 0; layer < spec.layers.size(); ++layer) {
    const std::optional<Rope>& own = spec.layers[layer].attention.rope;
    if (!own) continue;
    rotated.push_back(layer);
    if (rope == nullptr) rope = &*own;
  }
  if (rope == nullptr) return {};
  ordered_json out = {{"theta", rope->theta}};
  if (rope->fraction != 1) out["fraction"] = rope->fraction;
  if (rope->dimensions) out["dimensions"] = *rope->dimensions;
  if (rope->pairs == RotaryPairs::neighbors) out["pairs"] = "neighbors";
  if (rotated.size() < spec.layers.size()) out["layers"] = rotated;
  if (rope->scaling != RopeScaling::none) out["scaling"] = scaling_fields(*rope);
  return out;
}

ordered_json embedding_of(const ModelSpec& spec) {
  const StreamSpec& stream = spec.stream;
  const EmbeddingRule& rule = stream.embedding;
  const bool by_root =
      stream.embedding_factor == std::sqrt(static_cast<double>(spec.dimensions.width));
  ordered_json out = {{"tokens", rule.tokens}};
  if (!rule.positions.empty()) out["positions"] = rule.positions;
  if (rule.position_offset != 0) out["position_offset"] = rule.position_offset;
  if (rule.positions_after_padding) out["positions_after_padding"] = stream.padding_token;
  if (!rule.types.empty()) out["types"] = rule.types;
  if (stream.embedding_norm) out["norm"] = stream.embedding_norm->tensor;
  if (by_root && stream.embedding_factor != 1) out["times_sqrt_width"] = true;
  return out.size() == 1 ? ordered_json(rule.tokens) : out;
}

ordered_json multipliers_of(const ModelSpec& spec) {
  ordered_json out;
  const double embedding = spec.stream.embedding_factor;
  const bool by_root = embedding == std::sqrt(static_cast<double>(spec.dimensions.width));
  if (embedding != 1 && !by_root) out["embedding"] = embedding;
  if (spec.layers.front().branch_factor != 1) out["branches"] = spec.layers.front().branch_factor;
  if (spec.head.factor != 1) out["logits"] = spec.head.factor;
  return out;
}

void add_head(ordered_json& layout, const ModelSpec& spec) {
  const HeadRule& rule = spec.head.rule;
  ordered_json head;
  if (!rule.weight.empty()) head["weight"] = rule.weight.front();
  if (!rule.bias.empty() && rule.needs_bias) head["bias"] = rule.bias.front();
  if (!rule.dense.empty()) {
    head["dense"] = rule.dense;
    head["norm"] = rule.norm;
  }
  if (!rule.dense.empty() && !rule.activation.empty()) head["activation"] = rule.activation;
  if (spec.head.soft_cap) head["soft_cap"] = *spec.head.soft_cap;
  if (head.is_null()) return;
  if (head.size() == 1 && head.contains("weight")) {
    layout["lm_head"] = head["weight"];
  } else {
    layout["head"] = std::move(head);
  }
}

/// The members that determine what a layer computes, for comparison.
auto layer_facts(const LayerSpec& layer) {
  const AttentionSpec& own = layer.attention;
  return std::tie(layer.attention_input, layer.attention_output, layer.attention_sum,
                  layer.mlp_input, layer.mlp_output, layer.mlp_sum, layer.parallel,
                  layer.branch_factor, layer.norms_replace_stream, layer.activation, own.query_norm,
                  own.key_norm, own.value_norm, own.norms_after_rotation, own.clip, own.rope,
                  own.scale, own.soft_cap, own.mask.causal, own.mask.reach, own.mask.chunk,
                  own.sinks);
}

bool same_stream(const StreamSpec& one, const StreamSpec& other) {
  const auto facts = [](const StreamSpec& own) {
    return std::tie(own.embedding.tokens, own.embedding.positions, own.embedding.position_offset,
                    own.embedding.positions_after_padding, own.embedding.types, own.embedding_norm,
                    own.embedding_width, own.has_projection, own.embedding_factor, own.last_norm);
  };
  return facts(one) == facts(other) &&
         (!one.embedding.positions_after_padding || one.padding_token == other.padding_token);
}

bool same_head(const HeadSpec& one, const HeadSpec& other) {
  const auto facts = [](const HeadSpec& own) {
    return std::tie(own.rule.weight, own.rule.dense, own.soft_cap, own.factor);
  };
  return facts(one) == facts(other) &&
         (one.rule.dense.empty() || (one.norm == other.norm && one.activation == other.activation));
}

}  // namespace

ordered_json layout_of_weights(const ModelSpec& spec) {
  const Dimensions& sizes = spec.dimensions;
  ordered_json layout = {{"schema", "attnscope-layout/1"},
                         {"name", spec.architecture.name},
                         {"prefix", spec.architecture.prefixes.front()},
                         {"layers", sizes.layers},
                         {"hidden_size", sizes.width},
                         {"heads", sizes.heads.heads},
                         {"kv_heads", sizes.heads.kv_heads},
                         {"head_dim", sizes.heads.head_dim}};
  if (sizes.heads.value_dim != sizes.heads.head_dim) layout["value_dim"] = sizes.heads.value_dim;
  if (sizes.mlp_width > 0) layout["intermediate_size"] = sizes.mlp_width;
  if (sizes.vocabulary) layout["vocab_size"] = *sizes.vocabulary;
  if (sizes.context) layout["context_length"] = *sizes.context;
  layout["weights"] = ordered_json::array();
  for (const WeightRule& rule : spec.architecture.weights) {
    layout["weights"].push_back(entry_of(rule));
  }
  return layout;
}

ordered_json layout_of_forward(const ModelSpec& spec, const std::string& activation) {
  ordered_json layout = layout_of_weights(spec);
  const auto add = [&](const char* field, ordered_json value) {
    if (!value.is_null()) layout[field] = std::move(value);
  };
  if (!spec.causal) layout["causal"] = false;
  if (spec.tied) layout["tied"] = true;
  layout["embedding"] = embedding_of(spec);
  add("norms", norms_of(spec));
  add("attention", attention_of(spec));
  add("rope", rope_of(spec));
  add("multipliers", multipliers_of(spec));
  layout["activation"] = activation;
  const LayerSpec& layer = spec.layers.front();
  if (layer.parallel) layout["parallel"] = true;
  if (!layer.biased.empty()) layout["biases"] = names_of(layer.biased);
  add_head(layout, spec);
  return layout;
}

bool computes_the_same(const ModelSpec& one, const ModelSpec& other) {
  if (one.layers.size() != other.layers.size() || one.causal != other.causal ||
      one.tied != other.tied || !same_stream(one.stream, other.stream) ||
      !same_head(one.head, other.head)) {
    return false;
  }
  return std::equal(
      one.layers.begin(), one.layers.end(), other.layers.begin(),
      [](const LayerSpec& a, const LayerSpec& b) { return layer_facts(a) == layer_facts(b); });
}

}  // namespace attnscope
