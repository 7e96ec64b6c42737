// MiniMax-M2: Llama with norms of queries and keys that span all heads, and a sigmoid router.
// Source: huggingface/transformers, models/minimax_m2.
#include "attnscope/model/families/expert_tensors.h"
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture minimax_m2() {
  const std::string place = "layers.{layer}.block_sparse_moe";
  Architecture architecture = like_llama("minimax_m2", "MiniMaxM2");
  architecture.keys.kv_heads.fallback = 8;
  architecture.keys.head_dim.fallback = 128;
  architecture.biases.clear();
  norm_heads(architecture, HeadNormAxis::all_heads);
  architecture.rope->theta = 5e6;
  architecture.rope->fraction_key = "partial_rotary_factor";
  architecture.rope->dimensions = {"rotary_dim"};
  remove_mlp(architecture);
  architecture.weights.push_back({Role::router, place + ".gate.weight"});
  architecture.experts = std::make_shared<MoeRule>(
      MoeRule{.experts = {"num_local_experts", "num_experts"},
              .default_experts = 256,
              .chosen = {"num_experts_per_tok"},
              .default_chosen = 8,
              .width = {"intermediate_size", 1536},
              .tensors = {tensors_of_each_expert(place, "w1", "w3", "w2")},
              .score = RouterScore::sigmoid,
              .choice_bias = {place + ".e_score_correction_bias"},
              .normalize = {"", true},
              .normalize_epsilon = 1e-20});
  return architecture;
}

}  // namespace attnscope
