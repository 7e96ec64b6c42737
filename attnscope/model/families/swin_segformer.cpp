// Swin, Swin v2, Donut's Swin, and SegFormer: vision encoders whose stages have different hidden
// sizes. Source: huggingface/transformers, models/{swin,swinv2,donut,segformer}.
#include "attnscope/model/architecture.h"

namespace attnscope {
namespace {

using enum Role;

/// `layer`: before the names of a layer in its stage.
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

Architecture like_swin(const std::string& name, const std::string& family) {
  const std::string layer = "encoder.layers.{group}.blocks.{inner}.";
  Architecture out = in_stages(name, family, layer);
  out.keys.width = {"embed_dim", 96};
  out.keys.mlp_ratio = {"mlp_ratio", 4};
  out.stages =
      StageRule{.depths = {"depths", {2, 2, 6, 2}}, .heads = {"num_heads", {3, 6, 12, 24}}};
  out.prefixes = {"swin.", "swinv2.", ""};
  out.weights.insert(out.weights.end(), {{up, layer + "intermediate.dense.weight"},
                                         {down, layer + "output.dense.weight"}});
  out.others = {{"patch_embedding", "embeddings.patch_embeddings.projection.*"},
                {"position_embedding", "embeddings.position_embeddings"},
                {"mask_token", "embeddings.mask_token"},
                {"position_bias", "encoder.layers.*.relative_position_bias_table"},
                {"position_bias", "encoder.layers.*.continuous_position_bias_mlp.*"},
                {"score_scale", "encoder.layers.*.logit_scale"},
                {"patch_merging", "encoder.layers.*.downsample.*"},
                {"norm", "encoder.layers.*.layernorm_*"},
                {"norm", "embeddings.norm.*"},
                {"norm", "layernorm.*"}};
  out.buffers = {"*.relative_position_index", "*.relative_coords_table"};
  out.not_run = "attention in windows is not supported";
  return out;
}

}  // namespace

Architecture swin() { return like_swin("swin", "Swin"); }

Architecture swinv2() { return like_swin("swinv2", "Swinv2"); }

Architecture donut_swin() { return like_swin("donut-swin", "DonutSwin"); }

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
