// ERNIE 4.5: Llama that rotates neighbours. Source: huggingface/transformers, models/ernie4_5.
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture ernie4_5() {
  using enum Role;
  Architecture architecture = like_llama("ernie4_5", "Ernie4_5");
  architecture.keys.kv_heads.fallback = 2;
  architecture.keys.head_dim.fallback = 128;
  architecture.biases = {{{query, key, value, output, gate, up, down}, {"use_bias"}}};
  architecture.norm->epsilon.fallback = 1e-5;
  architecture.rope->theta = 500000;
  architecture.rope->neighbours = {"", true};
  architecture.tied_by_default = true;
  return architecture;
}

}  // namespace attnscope
