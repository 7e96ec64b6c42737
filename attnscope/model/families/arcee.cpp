// Arcee: Llama whose MLP has two matrices (no gate). Source: huggingface/transformers,
// models/arcee.
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture arcee() {
  Architecture architecture = like_llama("arcee", "Arcee");
  remove_gate(architecture);
  architecture.norm->epsilon.fallback = 1e-5;
  architecture.activation = "relu2";
  return architecture;
}

}  // namespace attnscope
