// MiniMax-Text-01: lightning attention in most layers, and experts in all. Attention and MLP
// outputs are added to their normalized inputs. Source: huggingface/transformers, models/minimax.
#include "attnscope/model/families/expert_tensors.h"
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture minimax() {
  const std::string mlp = "layers.{layer}.mlp", old_mlp = "layers.{layer}.block_sparse_moe";
  const char* const lightning = "lightning attention";
  Architecture architecture = like_llama("minimax", "MiniMax");
  architecture.model_types = {"minimax"};
  architecture.keys.kv_heads.fallback = 8;
  architecture.biases.clear();
  architecture.norm->epsilon.fallback = 1e-5;
  architecture.norm->replaces_stream = {"", true};
  architecture.rope->theta = 1e6;
  architecture.window = WindowRule{.size = {"sliding_window"}};
  architecture.multipliers.attention_stream = {"full_attn_alpha_factor", 1};
  architecture.multipliers.attention_output = {"full_attn_beta_factor", 1};
  architecture.multipliers.mixer_stream = {"linear_attn_alpha_factor", 1};
  architecture.multipliers.mlp_stream = {"mlp_alpha_factor", 1};
  architecture.multipliers.mlp_output = {"mlp_beta_factor", 1};
  for (const char* buffer : {"slope_rate", "query_decay", "key_decay", "diagonal_decay"}) {
    architecture.buffers.push_back(std::string("*.self_attn.") + buffer);
  }
  remove_mlp(architecture);
  architecture.weights.push_back({Role::router, mlp + ".gate.weight"});
  architecture.weights.push_back(
      {.role = Role::router, .tensor = old_mlp + ".gate.weight", .is_other_name = true});
  std::vector<ExpertTensors> tensors = usual_expert_tensors(mlp);
  tensors.push_back(tensors_of_each_expert(old_mlp, "w1", "w3", "w2"));
  architecture.experts =
      std::make_shared<MoeRule>(MoeRule{.experts = {"num_local_experts", "num_experts"},
                                        .default_experts = 8,
                                        .chosen = {"num_experts_per_tok"},
                                        .default_chosen = 2,
                                        .width = {"intermediate_size", 14336},
                                        .tensors = std::move(tensors),
                                        .score = RouterScore::softmax,
                                        .normalize = {"", true}});
  architecture.mixers = std::make_shared<MixerRule>(
      MixerRule{.kinds = {{.name = "full_attention", .attends = true},
                          {.name = "linear_attention", .mixer = lightning}},
                .list_keys = {"layer_types"},
                .interval = {"", 2},
                .offset = {"", 0},
                .lightning = LightningRule{.place = "layers.{layer}.self_attn"},
                .output_factor = {"linear_attn_beta_factor", 1}});
  return architecture;
}

}  // namespace attnscope
