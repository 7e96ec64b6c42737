// InternLM 1, 2 and 3: Llama with biases, or with Q, K and V in one tensor, group by group. Source:
// InternLM, modeling_internlm.py and modeling_internlm2.py; transformers, models/internlm3.
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture internlm() {
  using enum Role;
  Architecture architecture = like_llama("internlm", "InternLM");
  architecture.biases = {{{query, key, value, output}, {"bias", true}}};
  architecture.rope->theta_key = "rotary.base";
  Architecture dynamic = architecture;
  dynamic.conditions = {{"rotary.type", {"\"dynamic\""}}};
  dynamic.rope->standard = R"({"rope_type": "dynamic", "factor": 1})";
  architecture.layouts = {std::move(dynamic)};
  return architecture;
}

Architecture internlm2() {
  using enum Role;
  using enum Storage;
  const std::string layer = "layers.{layer}.", fused = layer + "attention.wqkv.weight";
  const std::vector<Role> qkv = {query, key, value};
  Architecture architecture = like_llama("internlm2", "InternLM2");
  architecture.weights = {
      {query, fused, out_by_in, qkv, kPerKvHead}, {key, fused, out_by_in, qkv, kPerKvHead},
      {value, fused, out_by_in, qkv, kPerKvHead}, {output, layer + "attention.wo.weight"},
      {gate, layer + "feed_forward.w1.weight"},   {up, layer + "feed_forward.w3.weight"},
      {down, layer + "feed_forward.w2.weight"}};
  architecture.biases = {{{query, key, value, output}, {"bias"}}};
  architecture.embedding.tokens = "tok_embeddings.weight";
  architecture.norm->attention_input = layer + "attention_norm";
  architecture.norm->mlp_input = layer + "ffn_norm";
  architecture.head.weight = {"output.weight"};
  return architecture;
}

Architecture internlm3() {
  using enum Role;
  Architecture architecture = like_llama("internlm3", "InternLM3");
  architecture.keys.kv_heads.fallback = 2;
  architecture.keys.head_dim.fallback = 128;
  architecture.norm->epsilon.fallback = 1e-5;
  architecture.biases = {{{query, key, value}, {"attention_bias", false, "qkv_bias"}},
                         {{output, gate, up, down}, {"mlp_bias", false, "bias"}}};
  return architecture;
}

}  // namespace attnscope
