// StableLM: Llama with LayerNorm and RoPE on a quarter of each head. In models with head norms,
// each head has its own norm tensors. Source: huggingface/transformers, models/stablelm.
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture stablelm() {
  using enum Role;
  Architecture architecture = like_llama("stablelm", "StableLm");
  architecture.keys.kv_heads.fallback = 32;
  architecture.biases = {{{query, key, value}, {"use_qkv_bias"}}};
  NormRule& norm = *architecture.norm;
  norm.kind = NormKind::layer;
  norm.epsilon = {"layer_norm_eps", 1e-5};
  norm.query = "layers.{layer}.self_attn.q_layernorm.norms.{head}";
  norm.key = "layers.{layer}.self_attn.k_layernorm.norms.{head}";
  norm.head_axis = HeadNormAxis::each_head;
  norm.heads_biased = false;
  norm.queries_and_keys = {"qk_layernorm"};
  architecture.parallel = {"use_parallel_residual"};
  norm.shared_if_parallel = true;
  architecture.rope->fraction_key = "partial_rotary_factor";
  architecture.rope->fraction = 0.25;
  return architecture;
}

}  // namespace attnscope
