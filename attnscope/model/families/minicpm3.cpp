// MiniCPM3: MLA, with factors on embedding, residual branches and logits. Source:
// huggingface/transformers, models/minicpm3.
#include "attnscope/model/families/mla_layers.h"

namespace attnscope {

Architecture minicpm3() {
  Architecture architecture = like_llama_with_mla("minicpm3", "MiniCPM3");
  MlaRule& latent = *architecture.mla;
  latent.query_rank.fallback = 768;
  latent.rank.fallback = 256;
  latent.plain_dim.fallback = 64;
  latent.rotary_dim.fallback = 32;
  latent.value_dim.fallback = {};
  architecture.norm->epsilon.fallback = 1e-5;
  architecture.multipliers = {.embedding = {"scale_emb", 12},
                              .branches = {"scale_depth", 1.4},
                              .by_depth = true,
                              .logits_width = {"dim_model_base", 256}};
  architecture.tied_by_default = true;
  return architecture;
}

}  // namespace attnscope
