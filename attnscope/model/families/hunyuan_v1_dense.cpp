// HunYuan: Llama whose queries and keys pass their norms after they are rotated.
// Source: huggingface/transformers, models/hunyuan_v1_dense.
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture hunyuan_v1_dense() {
  Architecture architecture = like_llama("hunyuan_v1_dense", "HunYuanDenseV1");
  architecture.norm->epsilon.fallback = 1e-5;
  architecture.norm->query = "layers.{layer}.self_attn.query_layernorm";
  architecture.norm->key = "layers.{layer}.self_attn.key_layernorm";
  architecture.norm->after_rotation = true;
  return architecture;
}

}  // namespace attnscope
