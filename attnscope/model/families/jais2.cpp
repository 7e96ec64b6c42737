// Jais 2: Llama with LayerNorms, biases, and an MLP with two matrices (no gate). Source:
// huggingface/transformers, models/jais2.
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture jais2() {
  using enum Role;
  Architecture architecture = like_llama("jais2", "Jais2");
  remove_gate(architecture);
  architecture.biases = {{{query, key, value, output}, {"attention_bias", true}},
                         {{up, down}, {"mlp_bias", true}}};
  architecture.norm->kind = NormKind::layer;
  architecture.norm->epsilon = {"layer_norm_eps", 1e-5};
  architecture.activation = "relu2";
  return architecture;
}

}  // namespace attnscope
