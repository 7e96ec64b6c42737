// Qwen 1: Llama with GPT-2's tensor names. Texts longer than the training length are refused: the
// authors' code then changes the RoPE base and scales queries. Source: QwenLM, modeling_qwen.py.
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture qwen() {
  using enum Role;
  using enum Storage;
  const std::string layer = "h.{layer}.", fused = layer + "attn.c_attn.weight";
  const std::vector<Role> qkv = {query, key, value};
  Architecture architecture = like_llama("qwen", "QWen");
  architecture.keys.kv_heads = {};
  architecture.keys.head_dim = {"kv_channels"};
  architecture.keys.mlp_divisor = 2;  // the file has the sizes of gate and up together
  architecture.keys.context = {"seq_length", 8192};
  architecture.prefixes = {"transformer.", ""};
  architecture.weights = {
      {query, fused, out_by_in, qkv},     {key, fused, out_by_in, qkv},
      {value, fused, out_by_in, qkv},     {output, layer + "attn.c_proj.weight"},
      {up, layer + "mlp.w1.weight"},      {gate, layer + "mlp.w2.weight"},
      {down, layer + "mlp.c_proj.weight"}};
  architecture.biases = {{{query, key, value}}};
  architecture.embedding.tokens = "wte.weight";
  architecture.norm = NormRule{.kind = NormKind::rms,
                               .epsilon = {"layer_norm_epsilon", 1e-6},
                               .attention_input = layer + "ln_1",
                               .mlp_input = layer + "ln_2",
                               .last = "ln_f"};
  architecture.rope = RopeRule{.theta_key = "rotary_emb_base", .fraction_key = "rotary_pct"};
  architecture.activation_key.clear();
  architecture.longest = LongestRule{.unit = {"seq_length", 8192}};
  return architecture;
}

}  // namespace attnscope
