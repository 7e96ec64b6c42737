// Qwen3-Next and Qwen3.5: Gated DeltaNet in most layers, attention with an output gate in the
// others.
// Source: huggingface/transformers, models/{qwen3_next,qwen3_5,qwen3_5_moe}.
#include "attnscope/model/expert_and_mixer_rules.h"
#include "attnscope/model/families/expert_tensors.h"
#include "attnscope/model/families/like_llama.h"

namespace attnscope {
namespace {

const std::string kMlp = "layers.{layer}.mlp";

MixerRule delta_net_rule(bool by_head) {
  const std::vector<LayerKind> kinds = {{.name = "full_attention", .attends = true},
                                        {.name = "attention", .attends = true},
                                        {.name = "linear_attention", .mixer = "Gated DeltaNet"}};
  return {.kinds = kinds,
          .list_keys = {"layer_types"},
          .interval = {"full_attention_interval", 4},
          .delta_net = DeltaNetRule{.key_heads = {"linear_num_key_heads", 16},
                                    .value_heads = {"linear_num_value_heads", 32},
                                    .key_dim = {"linear_key_head_dim", 128},
                                    .value_dim = {"linear_value_head_dim", 128},
                                    .kernel = {"linear_conv_kernel_dim", 4},
                                    .place = "layers.{layer}.linear_attn",
                                    .by_head = by_head}};
}

Architecture gated_qwen(const char* name, const char* class_family, bool by_head) {
  using enum Role;
  Architecture architecture = like_llama(name, class_family);
  architecture.keys.head_dim.fallback = 256;
  architecture.biases = {{{query, attention_gate, key, value, output}, {"attention_bias"}}};
  norm_heads(architecture, HeadNormAxis::head);
  architecture.norm->gain_offset = {"norm_gain_offset", 1};
  architecture.rope = RopeRule{.fraction_key = "partial_rotary_factor", .fraction = 0.25};
  architecture.mixers = std::make_shared<MixerRule>(delta_net_rule(by_head));
  std::erase_if(architecture.weights, [](const WeightRule& rule) { return rule.role == query; });
  for (const Role part : {query, attention_gate}) {
    architecture.weights.push_back({.role = part,
                                    .tensor = "layers.{layer}.self_attn.q_proj.weight",
                                    .fused = {query, attention_gate},
                                    .groups = kPerHead});
  }
  return architecture;
}

void add_qwen_experts(Architecture& architecture, MoeRule rule) {
  architecture.weights.push_back({Role::router, kMlp + ".gate.weight"});
  add_shared_experts(architecture, kMlp + ".shared_expert");
  rule.experts = {"num_experts", "num_local_experts"};
  rule.chosen = {"num_experts_per_tok"};
  rule.width = {"moe_intermediate_size", 512};
  rule.tensors = usual_expert_tensors(kMlp);
  rule.score = RouterScore::softmax;
  rule.shared_width = {"shared_expert_intermediate_size", 512};
  rule.shared_weight = kMlp + ".shared_expert_gate.weight";
  architecture.experts = std::make_shared<MoeRule>(std::move(rule));
}

}  // namespace

Architecture qwen3_next() {
  Architecture architecture = gated_qwen("qwen3_next", "Qwen3Next", /*by_head=*/true);
  architecture.keys.kv_heads.fallback = 2;
  add_qwen_experts(architecture,
                   {.default_experts = 512,
                    .default_chosen = 10,
                    .layers = {.every = {"decoder_sparse_step", 1}, .dense = "mlp_only_layers"},
                    .normalize = {"norm_topk_prob", true}});
  return architecture;
}

Architecture qwen3_5() {
  Architecture architecture = gated_qwen("qwen3_5", "Qwen3_5", /*by_head=*/false);
  architecture.model_types = {"qwen3_5_text", "qwen3_5"};
  architecture.keys.kv_heads.fallback = 4;
  architecture.nested_sizes = {.layers = 32,
                               .heads = 16,
                               .width = 4096,
                               .mlp_width = 12288,
                               .vocabulary = 248320,
                               .context = 32768};
  return architecture;
}

Architecture qwen3_5_moe() {
  Architecture architecture = gated_qwen("qwen3_5_moe", "Qwen3_5Moe", /*by_head=*/false);
  architecture.model_types = {"qwen3_5_moe_text", "qwen3_5_moe"};
  architecture.keys.kv_heads.fallback = 2;
  architecture.nested_sizes = {
      .layers = 40, .heads = 16, .width = 2048, .vocabulary = 248320, .context = 32768};
  remove_mlp(architecture);
  add_qwen_experts(architecture,
                   {.default_experts = 256, .default_chosen = 8, .normalize = {"", true}});
  return architecture;
}

}  // namespace attnscope
