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
      .not_run = "attention in windows is not supported",
      .others = {{"position_bias", "layers.*.attn.rel_pos_*"},
                 {"neck", "neck.*"},
                 {"patch_embedding", "patch_embed.projection.*"},
                 {"position_embedding", "pos_embed"},
                 {"norm", "layers.*.layer_norm*"}},
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
