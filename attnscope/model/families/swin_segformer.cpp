// Swin, Swin v2, Donut's Swin, and SegFormer: vision encoders whose stages have different hidden
// sizes. Source: huggingface/transformers, models/{swin,swinv2,donut,segformer}.
#include <utility>

#include "attnscope/model/architecture.h"

namespace attnscope {
namespace {

using enum Role;

Architecture in_stages(const std::string& name, const std::string& family,
                       const std::string& layer) {
  return {.name = name,
          .model_types = {name},
          .class_families = {family},
          .keys = {.vocabulary = {}, .context = {}},
          .weights = {{query, layer + "attention.self.query.weight"},
                      {key, layer + "attention.self.key.weight"},
                      {value, layer + "attention.self.value.weight"},
                      {output, layer + "attention.output.dense.weight"}},
          .tied_by_default = false,
          .causal = {"", false}};
}

/// Before the names of a layer in its stage.
constexpr const char* kSwinLayer = "encoder.layers.{group}.blocks.{inner}.";

Architecture like_swin(const std::string& name, const std::string& family) {
  const std::string layer = kSwinLayer;
  const std::string merging = "encoder.layers.{group}.downsample.";
  Architecture out = in_stages(name, family, layer);
  out.keys.width = {"embed_dim", 96};
  out.keys.mlp_ratio = {"mlp_ratio", 4};
  out.stages = StageRule{.depths = {"depths", {2, 2, 6, 2}},
                         .heads = {"num_heads", {3, 6, 12, 24}},
                         .merging = PatchMergingRule{.norm = merging + "norm",
                                                     .projection = merging + "reduction.weight"}};
  out.prefixes = {"swin.", "swinv2.", "donut.", ""};
  out.weights.insert(out.weights.end(), {{up, layer + "intermediate.dense.weight"},
                                         {down, layer + "output.dense.weight"}});
  out.biases = {{{query, key, value}, {"qkv_bias", true}}, {{output, up, down}}};
  out.embedding.norm = "embeddings.norm";
  out.patches = PatchRule{.patch_size = {"patch_size", 4},
                          .projection = "embeddings.patch_embeddings.projection.weight",
                          .positions = "embeddings.position_embeddings",
                          .has_positions = {"use_absolute_embeddings", false},
                          .positions_after_norm = true};
  out.norm = NormRule{.epsilon = {"layer_norm_eps", 1e-5},
                      .embedding_epsilon = {"", 1e-5},
                      .attention_input = layer + "layernorm_before",
                      .mlp_input = layer + "layernorm_after",
                      .last = "layernorm",
                      .shows_last = false};
  out.patch_windows = PatchWindowRule{.size = {"window_size", 7}, .wrapped = -100};
  out.scores.grid = GridBias{.table = layer + "attention.self.relative_position_bias_table",
                             .class_token = false};
  out.activation_key = "hidden_act";
  out.activation = "gelu";
  out.head = {
      .pooling = Pooling::patches, .weight = {"classifier.weight"}, .bias = {"classifier.bias"}};
  out.others = {{"mask_token", "embeddings.mask_token"}};
  out.buffers = {"*.relative_position_index", "*.relative_coords_table"};
  return out;
}

}  // namespace

Architecture swin() { return like_swin("swin", "Swin"); }

/// Norms follow attention and MLP. Scores are cosines, and an MLP computes their biases.
Architecture swinv2() {
  Architecture out = like_swin("swinv2", "Swinv2");
  NormRule& norm = *out.norm;
  norm.attention_output = std::exchange(norm.attention_input, "");
  norm.mlp_output = std::exchange(norm.mlp_input, "");
  out.stages->merging->norm_last = true;
  out.biases = {{{query, value}, {"qkv_bias", true}}, {{output, up, down}}};
  out.scores.grid.reset();
  out.scores.grid_mlp =
      GridMlpRule{.mlp = std::string(kSwinLayer) + "attention.self.continuous_position_bias_mlp",
                  .pretrained_windows = "pretrained_window_sizes"};
  out.scores.cosine_scales = std::string(kSwinLayer) + "attention.self.logit_scale";
  // transformers adds the term twice.
  out.patch_windows = PatchWindowRule{.size = {"window_size", 7}, .wrapped = -200, .shrinks = true};
  return out;
}

Architecture donut_swin() {
  Architecture out = like_swin("donut-swin", "DonutSwin");
  out.norm->last.clear();
  return out;
}

Architecture segformer() {
  const std::string layer = "encoder.block.{group}.{inner}.";
  Architecture out = in_stages("segformer", "Segformer", layer);
  out.stages = StageRule{.depths = {"depths", {2, 2, 2, 2}},
                         .heads = {"num_attention_heads", {1, 2, 5, 8}},
                         .widths = {"hidden_sizes", {32, 64, 160, 256}},
                         .mlp_ratios = "mlp_ratios"};
  out.prefixes = {"segformer.", ""};
  out.weights.insert(out.weights.end(),
                     {{up, layer + "mlp.dense1.weight"}, {down, layer + "mlp.dense2.weight"}});
  out.others = {{"key_value_reduction", "encoder.block.*.attention.self.sr.*"},
                {"norm", "encoder.block.*.attention.self.layer_norm.*"},
                {"mlp_convolution", "encoder.block.*.mlp.dwconv.*"},
                {"patch_embedding", "encoder.patch_embeddings.*"},
                {"norm", "encoder.block.*.layer_norm_*"},
                {"norm", "encoder.layer_norm.*"}};
  out.not_run = "attention to fewer, convolved patches is not supported";
  return out;
}

}  // namespace attnscope
