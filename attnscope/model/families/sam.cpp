// The vision encoder of SAM. Source: huggingface/transformers, models/sam.
#include "attnscope/model/families/encoder_decoder.h"

namespace attnscope {

Architecture sam() {
  using enum Role;
  const std::string layer = "layers.{layer}.", qkv = layer + "attn.qkv.weight";
  const std::vector<Role> all = {query, key, value};
  Architecture encoder{
      .stack = "vision",
      .keys = {.layers = {"num_hidden_layers", 12},
               .heads = {"num_attention_heads", 12},
               .width = {"hidden_size", 768},
               .mlp_width = {"mlp_dim"},
               .vocabulary = {},
               .context = {}},
      .prefixes = {"vision_encoder."},
      .weights = {{.role = query, .tensor = qkv, .fused = all},
                  {.role = key, .tensor = qkv, .fused = all},
                  {.role = value, .tensor = qkv, .fused = all},
                  {output, layer + "attn.proj.weight"},
                  {up, layer + "mlp.lin1.weight"},
                  {down, layer + "mlp.lin2.weight"}},
      .biases = {{{query, key, value}, {"qkv_bias", true}}, {{output, up, down}}},
      .patches = PatchRule{.image_size = {"image_size", 1024},
                           .projection = "patch_embed.projection.weight",
                           .positions = "pos_embed",
                           .has_positions = {"use_abs_pos", true}},
      .norm = NormRule{.epsilon = {"layer_norm_eps", 1e-6},
                       .attention_input = layer + "layer_norm1",
                       .mlp_input = layer + "layer_norm2"},
      .scores = {.axes = AxisBiases{.rows = layer + "attn.rel_pos_h",
                                    .columns = layer + "attn.rel_pos_w"},
                 .has_axes = {"use_rel_pos", true}},
      .patch_windows = PatchWindowRule{.size = {"window_size", 14},
                                       .full_layers = "global_attn_indexes",
                                       .full_by_default = {2, 5, 8, 11}},
      .activation_key = "hidden_act",
      .activation = "gelu",
      .others = {{"neck", "neck.*"}},
      .tied_by_default = false,
      .causal = {"", false},
      .section = "vision_config",
  };
  Architecture out = of_stacks("sam", "Sam", {std::move(encoder)});
  out.model_types.emplace_back("sam_vision_model");
  out.class_families.emplace_back("SamVision");
  return out;
}

}  // namespace attnscope
