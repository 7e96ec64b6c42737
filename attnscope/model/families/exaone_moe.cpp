// K-EXAONE: the windows and rotation of EXAONE 4, norms before attention and MLP, and DeepSeek-V3's
// router and experts. Source: huggingface/transformers, models/exaone_moe.
#include "attnscope/model/families/expert_tensors.h"
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture exaone4();

Architecture exaone_moe() {
  const std::string mlp = "layers.{layer}.mlp";
  Architecture architecture = exaone4();
  architecture.name = "exaone_moe";
  architecture.model_types = {"exaone_moe"};
  architecture.class_families = {"ExaoneMoe", "ExaoneMoE"};
  NormRule& norm = *architecture.norm;
  norm.attention_output.clear();
  norm.mlp_output.clear();
  norm.attention_input = "layers.{layer}.input_layernorm";
  norm.mlp_input = "layers.{layer}.post_attention_layernorm";
  MoeRule rule = biased_router(mlp);
  rule.experts = {"num_experts", "num_local_experts"};
  rule.default_experts = 64;
  rule.default_chosen = 8;
  rule.width.fallback = 1024;
  // Files on the hub have the first name, files that transformers saves the second one.
  rule.choice_bias = {mlp + ".e_score_correction_bias", mlp + ".gate.e_score_correction_bias"};
  rule.layers = {.first = {"first_k_dense_replace", 1}, .types = "mlp_layer_types"};
  rule.normalize = {"norm_topk_prob", true};
  rule.times.fallback = 2.5;
  rule.shared_count = {"num_shared_experts", 1};
  add_experts(architecture, mlp, std::move(rule));
  architecture.others = {{"multi_token_prediction", "mtp.*"}};
  return architecture;
}

}  // namespace attnscope
