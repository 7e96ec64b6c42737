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
  Architecture sparse = architecture, with_experts = architecture;
  sparse.conditions = {{"sparse_config", {"{*"}}};
  sparse.not_run = "'sparse_config' selects keys for each query, which is not supported";
  with_experts.conditions = {{"num_experts"}};
  with_experts.not_run = "MiniCPM with experts is not supported";
  architecture.layouts = {std::move(sparse), std::move(with_experts)};
  return architecture;
}

}  // namespace attnscope
