// EuroBERT: Llama's layers with bidirectional attention. Source: huggingface/transformers,
// models/eurobert.
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture eurobert() {
  Architecture architecture = like_llama("eurobert", "EuroBert");
  architecture.norm->epsilon.fallback = 1e-5;
  architecture.causal = {"", false};
  architecture.head_marker = "lm_head.*";
  return architecture;
}

}  // namespace attnscope
