// Helium: Llama whose RoPE pairs adjacent dimensions. Source: huggingface/transformers,
// models/helium.
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture helium() {
  Architecture architecture = like_llama("helium", "Helium");
  architecture.keys.kv_heads.fallback = 20;
  architecture.keys.head_dim.fallback = 128;
  architecture.norm->epsilon.fallback = 1e-8;
  architecture.rope->theta = 100000;
  architecture.rope->neighbors = {"", true};
  return architecture;
}

}  // namespace attnscope
