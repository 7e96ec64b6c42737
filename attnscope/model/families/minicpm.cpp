// MiniCPM 1 and 4: Llama with factors on embedding, residual branches and logits. Source: OpenBMB,
// modeling_minicpm.py.
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture minicpm() {
  Architecture architecture = like_llama("minicpm", "MiniCPM");
  architecture.multipliers = {.embedding = {"scale_emb", 1},
                              .branches = {"scale_depth", 1},
                              .by_depth = true,
                              .logits_width = {"dim_model_base", 1}};
  architecture.tied_by_default = true;
  architecture.layouts = {
      not_run_if(architecture, {"sparse_config", {"{*"}},
                 "'sparse_config' selects keys for each query, which is not supported"),
      not_run_if(architecture, {"num_experts"}, "MiniCPM with experts is not supported")};
  return architecture;
}

}  // namespace attnscope
