// LayoutLM: BERT with embeddings of each token's box. Text without boxes has zero boxes. Source:
// huggingface/transformers, models/layoutlm/modeling_layoutlm.py.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture bert();

Architecture layoutlm() {
  Architecture architecture = bert();
  architecture.name = "layoutlm";
  architecture.model_types = {"layoutlm"};
  architecture.class_families = {"LayoutLM"};
  architecture.prefixes = {"layoutlm.", ""};
  const std::string x = "embeddings.x_position_embeddings.weight";
  const std::string y = "embeddings.y_position_embeddings.weight";
  architecture.embedding.added = {x,  // left, upper, right, lower
                                  y,
                                  x,
                                  y,
                                  "embeddings.h_position_embeddings.weight",
                                  "embeddings.w_position_embeddings.weight"};
  architecture.causal = {"", false};
  return architecture;
}

}  // namespace attnscope
