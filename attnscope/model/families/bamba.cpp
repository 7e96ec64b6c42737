// Bamba: Mamba-2 in most layers, attention in the others, with rotary positions on half of each
// head. Source: huggingface/transformers, models/bamba.
#include "attnscope/model/families/like_llama.h"
#include "attnscope/model/families/mamba_layers.h"

namespace attnscope {

Architecture bamba() {
  Architecture architecture = like_llama("bamba", "Bamba");
  architecture.keys.kv_heads.fallback = 8;
  rename_mlp_to_feed_forward(architecture);
  architecture.norm->epsilon.fallback = 1e-5;
  architecture.norm->mlp_input = "layers.{layer}.pre_ff_layernorm";
  architecture.norm->last = "final_layernorm";
  architecture.rope->fraction = 0.5;
  architecture.mixers =
      std::make_shared<MixerRule>(MixerRule{.kinds = mamba_or_attention(kMamba2),
                                            .attending_key = "attn_layer_indices",
                                            .usual = "linear_attention",
                                            .mamba2 = bamba_mixer("layers.{layer}.mamba")});
  return architecture;
}

}  // namespace attnscope
