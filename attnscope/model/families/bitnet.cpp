// BitNet b1.58: Llama with a norm of all head outputs before W_O, a norm of the input of W_down,
// and squared ReLUs. Source: huggingface/transformers, models/bitnet.
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture bitnet() {
  Architecture architecture = like_llama("bitnet", "BitNet");
  architecture.keys.kv_heads.fallback = 5;
  architecture.biases = {{{Role::query, Role::key, Role::value, Role::output}, {"attention_bias"}}};
  architecture.norm->epsilon.fallback = 1e-5;
  architecture.norm->attention_heads = "layers.{layer}.self_attn.attn_sub_norm";
  architecture.norm->mlp_hidden = "layers.{layer}.mlp.ffn_sub_norm";
  architecture.rope->theta = 5e5;
  architecture.activation = "relu2";
  return architecture;
}

}  // namespace attnscope
