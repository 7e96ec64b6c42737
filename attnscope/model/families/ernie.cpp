// ERNIE: BERT with an optional embedding of the task, whose first row is added. Source:
// huggingface/transformers, models/ernie/modeling_ernie.py.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture bert();

Architecture ernie() {
  Architecture architecture = bert();
  architecture.name = "ernie";
  architecture.model_types = {"ernie"};
  architecture.class_families = {"Ernie"};
  architecture.prefixes = {"ernie.", ""};
  architecture.embedding.added = {"embeddings.task_type_embeddings.weight"};
  architecture.embedding.has_added = {"use_task_id"};
  return architecture;
}

}  // namespace attnscope
