// Baichuan 1 and 2: Llama with Q, K and V in one tensor. The 13B models have ALiBi instead of RoPE;
// their config has no max_position_embeddings. Source: baichuan-inc, modeling_baichuan.py.
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture baichuan() {
  using enum Role;
  using enum Storage;
  const std::string fused = "layers.{layer}.self_attn.W_pack.weight";
  Architecture architecture = like_llama("baichuan", "BaiChuan");
  architecture.class_families = {"BaiChuan", "Baichuan"};
  architecture.keys.kv_heads = {};
  architecture.keys.head_dim = {};
  std::erase_if(architecture.weights, [](const WeightRule& rule) {
    return rule.role == query || rule.role == key || rule.role == value;
  });
  for (const Role part : {query, key, value}) {
    architecture.weights.push_back({.role = part, .tensor = fused, .fused = {query, key, value}});
  }
  architecture.biases.clear();
  // Baichuan 2 divides the rows of its LM head by their norms.
  const ConfigCondition second = {"vocab_size", {"125696"}};
  const char* const no_head =
      "Baichuan 2 normalizes the rows of its LM head, which is not supported";
  Architecture rotary = architecture, rotary_second = architecture;
  rotary.conditions = {{"max_position_embeddings"}};
  rotary_second.conditions = {{"max_position_embeddings"}, second};
  rotary_second.head.none = no_head;
  architecture.keys.context = {"model_max_length"};
  architecture.rope.reset();
  architecture.scores.alibi = Alibi{};
  architecture.buffers.push_back("*.alibi_mask");
  Architecture alibi_second = architecture;
  alibi_second.conditions = {second};
  alibi_second.head.none = no_head;
  architecture.layouts = {std::move(rotary_second), std::move(rotary), std::move(alibi_second)};
  return architecture;
}

}  // namespace attnscope
