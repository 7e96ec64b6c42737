// Qwen's MoE models: Qwen1.5-MoE and Qwen2-MoE (shared experts, windows in even layers), Qwen3-MoE,
// Qwen3-VL-MoE. Source: huggingface/transformers, models/{qwen2_moe,qwen3_moe,qwen3_vl_moe}.
#include "attnscope/model/families/expert_tensors.h"

namespace attnscope {

Architecture qwen2();
Architecture qwen3();

namespace {

const std::string kPlace = "layers.{layer}.mlp";

MoeRule qwen_rule() {
  return {.experts = {"num_experts", "num_local_experts"},
          .chosen = {"num_experts_per_tok"},
          .layers = {.every = {"decoder_sparse_step", 1}, .dense = "mlp_only_layers"},
          .tensors = usual_expert_tensors(kPlace),
          .score = RouterScore::softmax,
          .normalize = {"norm_topk_prob", false}};
}

}  // namespace

Architecture qwen2_moe() {
  using enum Role;
  Architecture architecture = qwen2();
  architecture.name = "qwen2_moe";
  architecture.model_types = {"qwen2_moe"};
  architecture.class_families = {"Qwen2Moe"};
  architecture.keys.kv_heads.fallback = 16;
  architecture.biases = {{{query, key, value}, {"qkv_bias", true}}};
  architecture.window->layers = WindowedLayers::even_below;
  architecture.weights.push_back({router, kPlace + ".gate.weight"});
  add_shared_experts(architecture, kPlace + ".shared_expert");
  MoeRule rule = qwen_rule();
  rule.default_experts = 60;
  rule.default_chosen = 4;
  rule.width = {"moe_intermediate_size", 1408};
  rule.shared_width = {"shared_expert_intermediate_size", 5632};
  rule.shared_weight = kPlace + ".shared_expert_gate.weight";
  architecture.experts = std::make_shared<MoeRule>(std::move(rule));
  return architecture;
}

Architecture qwen3_moe() {
  using enum Role;
  Architecture architecture = qwen3();
  architecture.name = "qwen3_moe";
  architecture.model_types = {"qwen3_moe"};
  architecture.class_families = {"Qwen3Moe"};
  architecture.keys.kv_heads.fallback = 4;
  architecture.keys.head_dim.fallback = {};
  architecture.window =
      WindowRule{.size = {"sliding_window", 4096}, .enabled = {"use_sliding_window"}};
  architecture.weights.push_back({router, kPlace + ".gate.weight"});
  MoeRule rule = qwen_rule();
  rule.default_experts = 128;
  rule.default_chosen = 8;
  rule.width = {"moe_intermediate_size", 768};
  architecture.experts = std::make_shared<MoeRule>(std::move(rule));
  return architecture;
}

Architecture qwen3_vl_moe() {
  Architecture architecture = qwen3_moe();
  architecture.name = "qwen3_vl_moe";
  architecture.model_types = {"qwen3_vl_moe", "qwen3_vl_moe_text"};
  architecture.class_families = {"Qwen3VLMoe"};
  architecture.keys.kv_heads.fallback = 16;
  architecture.rope->theta = 500000;
  architecture.window = {};
  MoeRule rule = *architecture.experts;
  rule.default_experts = 60;
  rule.default_chosen = 4;
  rule.width.fallback = 1408;
  rule.normalize = {"", true};
  rule.tensors = {tensors_of_each_expert(kPlace),
                  stacked_experts(kPlace + ".experts.gate_up_proj", kPlace + ".experts.down_proj",
                                  Storage::in_by_out)};
  architecture.experts = std::make_shared<MoeRule>(std::move(rule));
  return architecture;
}

}  // namespace attnscope
