// Jamba: Mamba in most layers, experts in every second one.
// Source: huggingface/transformers, models/jamba.
#include "attnscope/model/families/expert_tensors.h"
#include "attnscope/model/families/like_llama.h"
#include "attnscope/model/families/mamba_layers.h"

namespace attnscope {

Architecture jamba() {
  const std::string mlp = "layers.{layer}.feed_forward";
  Architecture architecture = like_llama("jamba", "Jamba");
  architecture.keys.kv_heads.fallback = 8;
  rename_mlp_to_feed_forward(architecture);
  architecture.weights.push_back({Role::router, mlp + ".router.weight"});
  architecture.biases = {};
  architecture.norm->mlp_input = "layers.{layer}.pre_ff_layernorm";
  architecture.norm->last = "final_layernorm";
  architecture.rope.reset();
  architecture.experts = std::make_shared<MoeRule>(
      MoeRule{.experts = {"num_experts", "num_local_experts"},
              .default_experts = 16,
              .dense_up_to = 1,
              .chosen = {"num_experts_per_tok"},
              .default_chosen = 2,
              .width = {"intermediate_size", 14336},
              .layers = {.every = {"expert_layer_period", 2}, .offset = {"expert_layer_offset", 1}},
              .tensors = usual_expert_tensors(mlp),
              .score = RouterScore::softmax});
  architecture.mixers = std::make_shared<MixerRule>(
      MixerRule{.kinds = mamba_or_attention("Mamba"),
                .interval = {"attn_layer_period", 8},
                .offset = {"attn_layer_offset", 4},
                .mamba = MambaRule{.state_dim = {"mamba_d_state", 16},
                                   .kernel = {"mamba_d_conv", 4},
                                   .expand = {"mamba_expand", 2},
                                   .step_rank = {"mamba_dt_rank"},
                                   .place = "layers.{layer}.mamba",
                                   .biased = {"mamba_proj_bias", false},
                                   .convolution_biased = {"mamba_conv_bias", true}}});
  return architecture;
}

}  // namespace attnscope
