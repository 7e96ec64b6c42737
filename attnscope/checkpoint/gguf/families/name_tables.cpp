#include "attnscope/checkpoint/gguf/families/name_tables.h"

#include <algorithm>

namespace attnscope::gguf {

using enum Conversion;

void drop(Names& names, std::initializer_list<std::string_view> dropped) {
  std::erase_if(names, [&](const GgufName& name) {
    return std::find(dropped.begin(), dropped.end(), name.gguf) != dropped.end();
  });
}

void set(Names& names, const Names& meanings) {
  for (const GgufName& name : meanings) {
    drop(names, {name.gguf});
    names.push_back(name);
  }
}

void add(Keys& keys, const Keys& more) { keys.insert(keys.end(), more.begin(), more.end()); }

Keys sizes_with(const Keys& more) {
  Keys sizes = {{"block_count", "num_hidden_layers"},
                {"context_length", "max_position_embeddings"},
                {"embedding_length", "hidden_size"},
                {"feed_forward_length", "intermediate_size"},
                {"attention.head_count", "num_attention_heads"}};
  add(sizes, more);
  return sizes;
}

GgufFamily like_qwen2(std::string_view name, std::string_view model_type) {
  return {
      .name = name,
      .model_type = model_type,
      .tensors = {{"token_embd", "model.embed_tokens"},
                  {"output_norm", "model.norm"},
                  {"output", "lm_head"}},
      .layer_prefix = "model.layers.",
      .layer_tensors = {{"attn_norm", "input_layernorm"},
                        {"attn_q", "self_attn.q_proj"},
                        {"attn_k", "self_attn.k_proj"},
                        {"attn_v", "self_attn.v_proj"},
                        {"attn_output", "self_attn.o_proj"},
                        {"ffn_norm", "post_attention_layernorm"},
                        {"ffn_gate", "mlp.gate_proj"},
                        {"ffn_up", "mlp.up_proj"},
                        {"ffn_down", "mlp.down_proj"}},
      .sizes = sizes_with({{"attention.head_count_kv", "num_key_value_heads"},
                           {"attention.key_length", "head_dim"}}),
      .numbers = {{"attention.layer_norm_rms_epsilon", "rms_norm_eps"}},
  };
}

GgufFamily like_llama(std::string_view name, std::string_view model_type) {
  GgufFamily family = like_qwen2(name, model_type);
  set(family.layer_tensors,
      {{"attn_q", "self_attn.q_proj", query_pairs}, {"attn_k", "self_attn.k_proj", key_pairs}});
  return family;
}

Names head_norms() {
  return {{"attn_q_norm", "self_attn.q_norm"}, {"attn_k_norm", "self_attn.k_norm"}};
}

void use_layer_norm(GgufFamily& family, std::string_view epsilon) {
  std::erase_if(family.numbers,
                [](const GgufKey& key) { return key.gguf == "attention.layer_norm_rms_epsilon"; });
  family.numbers.push_back({"attention.layer_norm_epsilon", epsilon});
}

Names expert_names(const std::string& place, const std::string& gate, const std::string& up,
                   const std::string& down) {
  const std::string expert = place + ".experts.{number}.";
  return {{"ffn_gate_exps", expert + gate, numbered},
          {"ffn_up_exps", expert + up, numbered},
          {"ffn_down_exps", expert + down, numbered}};
}

Names shared_expert_names(const std::string& place) {
  return {{"ffn_gate_shexp", place + ".gate_proj"},
          {"ffn_up_shexp", place + ".up_proj"},
          {"ffn_down_shexp", place + ".down_proj"}};
}

Names draft_names() {
  return {{"nextn.eh_proj", "eh_proj"},
          {"nextn.embed_tokens", "embed_tokens"},
          {"nextn.enorm", "enorm"},
          {"nextn.hnorm", "hnorm"},
          {"nextn.shared_head_head", "shared_head.head"},
          {"nextn.shared_head_norm", "shared_head.norm"}};
}

}  // namespace attnscope::gguf
