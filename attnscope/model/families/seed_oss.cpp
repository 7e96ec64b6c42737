// Seed-OSS: Llama with biases of Q, K and V. Source: huggingface/transformers, models/seed_oss.
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture seed_oss() {
  using enum Role;
  Architecture architecture = like_llama("seed_oss", "SeedOss");
  architecture.keys.kv_heads.fallback = 8;
  architecture.keys.head_dim.fallback = 128;
  architecture.biases = {{{query, key, value}, {"attention_bias", true}},
                         {{output}, {"attention_out_bias"}},
                         {{gate, up, down}, {"mlp_bias"}}};
  return architecture;
}

}  // namespace attnscope
