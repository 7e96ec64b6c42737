// Nemotron: LayerNorms whose gains are stored less 1, half of each head rotated, an MLP of two
// matrices. Source: huggingface/transformers, models/nemotron.
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture nemotron() {
  Architecture architecture = like_llama("nemotron", "Nemotron");
  remove_gate(architecture);
  architecture.norm->kind = NormKind::layer;
  architecture.norm->epsilon = {"norm_eps", 1e-5};
  architecture.norm->gain_offset = {"norm_gain_offset", 1};  // GGUF keeps gains whole
  architecture.rope->fraction_key = "partial_rotary_factor";
  architecture.rope->fraction = 0.5;
  architecture.activation = "relu2";
  return architecture;
}

}  // namespace attnscope
