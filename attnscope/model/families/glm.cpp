// GLM-4 rotates adjacent dimensions in half of each head and stores gate and up in one tensor.
// GLM-4-0414 (glm4) also has norms after attention and MLP. Source: huggingface/transformers,
// models/{glm,glm4,glm4v,glm4_moe,glm4_moe_lite,glm_moe_dsa}.
#include "attnscope/model/families/expert_tensors.h"
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture deepseek_v3();
Architecture deepseek_v32();
Architecture qwen3();

Architecture glm() {
  using enum Role;
  Architecture architecture = like_llama("glm", "Glm");
  architecture.keys.kv_heads.fallback = 2;
  architecture.keys.head_dim.fallback = 128;
  const std::string gate_up = "layers.{layer}.mlp.gate_up_proj.weight";
  for (WeightRule& rule : architecture.weights) {
    if (rule.role != gate && rule.role != up) continue;
    rule.tensor = gate_up;
    rule.fused = {gate, up};
  }
  architecture.biases = {{{query, key, value}, {"attention_bias", true}}};
  architecture.norm->epsilon.fallback = 1.5625e-7;
  architecture.rope->fraction_key = "partial_rotary_factor";
  architecture.rope->fraction = 0.5;
  architecture.rope->neighbors = {"", true};
  return architecture;
}

Architecture glm4() {
  Architecture architecture = glm();
  architecture.name = "glm4";
  architecture.model_types = {"glm4"};
  architecture.class_families = {"Glm4"};
  architecture.norm->attention_output = "layers.{layer}.post_self_attn_layernorm";
  architecture.norm->mlp_output = "layers.{layer}.post_mlp_layernorm";
  return architecture;
}

/// The text model of GLM-4.1V.
Architecture glm4v() {
  using enum Role;
  Architecture architecture = glm4();
  architecture.name = "glm4v";
  architecture.model_types = {"glm4v", "glm4v_text"};
  architecture.class_families = {"Glm4v"};
  architecture.keys.head_dim = {};  // always hidden size / heads
  architecture.nested_sizes = {.layers = 40,
                               .heads = 32,
                               .width = 4096,
                               .mlp_width = 13696,
                               .vocabulary = 151552,
                               .context = 32768};
  architecture.biases = {{{query, key, value}}};
  architecture.norm->epsilon.fallback = 1e-5;
  architecture.rope->fraction = 1;
  return architecture;
}

/// GLM-4.5: ordinary attention, with DeepSeek-V3's router and experts.
Architecture glm4_moe() {
  using enum Role;
  const std::string mlp = "layers.{layer}.mlp";
  Architecture architecture = qwen3();
  architecture.name = "glm4_moe";
  architecture.model_types = {"glm4_moe"};
  architecture.class_families = {"Glm4Moe"};
  architecture.keys.kv_heads.fallback = 8;
  architecture.keys.head_dim.fallback = {};
  architecture.norm->epsilon = {"rms_norm_eps", 1e-5};
  architecture.norm->queries_and_keys = {"use_qk_norm", false};
  architecture.biases = {{{query, key, value}, {"attention_bias"}}};
  architecture.window = {};
  architecture.rope->fraction_key = "partial_rotary_factor";
  architecture.rope->fraction = 0.5;
  MoeRule rule = biased_router(mlp);
  rule.default_experts = 128;
  rule.default_chosen = 8;
  rule.layers = {.first = {"first_k_dense_replace", 1}};
  rule.normalize = {"norm_topk_prob", true};
  rule.shared_count = {"n_shared_experts", 1};
  add_experts(architecture, mlp, std::move(rule));
  return architecture;
}

/// GLM-4.7-Flash: DeepSeek-V3's attention, router and experts.
Architecture glm4_moe_lite() {
  Architecture architecture = deepseek_v3();
  architecture.name = "glm4_moe_lite";
  architecture.model_types = {"glm4_moe_lite"};
  architecture.class_families = {"Glm4MoeLite"};
  MlaRule& latent = *architecture.mla;
  latent.query_rank.fallback = 768;
  latent.plain_dim.fallback = 192;
  latent.value_dim.fallback = 256;
  architecture.norm->epsilon.fallback = 1e-5;
  MoeRule rule = *architecture.experts;
  rule.default_experts = 64;
  rule.default_chosen = 4;
  rule.width.fallback = 1536;
  rule.layers = {.first = {"", 1}, .types = "mlp_layer_types"};
  rule.groups.fallback = rule.kept_mlp_groups.fallback = 1;
  rule.times.fallback = 1.8;
  architecture.experts = std::make_shared<MoeRule>(std::move(rule));
  return architecture;
}

/// GLM-5: DeepSeek-V3.2 with an indexer that may serve several layers.
Architecture glm_moe_dsa() {
  Architecture architecture = deepseek_v32();
  architecture.name = "glm_moe_dsa";
  architecture.model_types = {"glm_moe_dsa"};
  architecture.class_families = {"GlmMoeDsa"};
  MlaRule& latent = *architecture.mla;
  latent.query_rank.fallback = 2048;
  latent.plain_dim.fallback = 192;
  latent.value_dim.fallback = 256;
  architecture.norm->epsilon.fallback = 1e-5;
  IndexerRule& indexer = *architecture.indexer;
  indexer.heads.fallback = 32;
  indexer.neighbors = true;
  indexer.kinds = "indexer_types";
  indexer.pattern = "index_topk_pattern";
  indexer.period = {"index_topk_freq", 1};
  indexer.offset = {"index_skip_topk_offset", 2};
  return architecture;
}

}  // namespace attnscope
