// HunYuan: Llama with norms of queries and keys after RoPE; also as MoE. Source:
// huggingface/transformers, models/{hunyuan_v1_dense,hunyuan_v1_moe}.
#include "attnscope/model/families/expert_tensors.h"
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture hunyuan_v1_dense() {
  Architecture architecture = like_llama("hunyuan_v1_dense", "HunYuanDenseV1");
  architecture.norm->epsilon.fallback = 1e-5;
  architecture.norm->query = "layers.{layer}.self_attn.query_layernorm";
  architecture.norm->key = "layers.{layer}.self_attn.key_layernorm";
  architecture.norm->after_rotation = true;
  architecture.rope->alpha_key = "alpha";
  return architecture;
}

Architecture hunyuan_v1_moe() {
  const std::string place = "layers.{layer}.mlp";
  Architecture architecture = hunyuan_v1_dense();
  architecture.name = "hunyuan_v1_moe";
  architecture.model_types = {"hunyuan_v1_moe"};
  architecture.class_families = {"HunYuanMoEV1"};
  remove_mlp(architecture);
  architecture.weights.push_back({Role::router, place + ".gate.wg.weight"});
  add_shared_experts(architecture, place + ".shared_mlp");
  architecture.experts =
      std::make_shared<MoeRule>(MoeRule{.experts = {"num_experts", "num_local_experts"},
                                        .default_experts = 1,
                                        .chosen = {"moe_topk", "num_experts_per_tok"},
                                        .default_chosen = 1,
                                        .width = {"intermediate_size", 11008},
                                        .tensors = usual_expert_tensors(place),
                                        .score = RouterScore::softmax,
                                        .normalize = {"", true},
                                        .shared_count = {"", 1}});
  return architecture;
}

}  // namespace attnscope
