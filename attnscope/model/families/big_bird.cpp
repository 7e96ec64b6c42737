// BigBird: BERT whose long texts have sparse attention with random blocks. Texts of up to
// (5 + 2 random blocks) blocks have full attention, and only these are run. Source:
// huggingface/transformers, models/big_bird/modeling_big_bird.py, BigBirdModel.forward().
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture bert();

Architecture big_bird() {
  Architecture architecture = bert();
  architecture.name = "big_bird";
  architecture.model_types = {"big_bird"};
  architecture.class_families = {"BigBird"};
  using enum Role;
  architecture.biases = {{{query, key, value}, {"use_bias", true}}, {{output, up, down}}};
  architecture.embedding.times_sqrt_width = {"rescale_embeddings"};
  architecture.activation = "gelu_new";
  // The head of BigBirdForQuestionAnswering has a layer of its own and is not described.
  architecture.label_heads = {{.task = LabelTask::sequence,
                               .weight = "classifier.out_proj.weight",
                               .dense = "classifier.dense.weight",
                               .activation = "gelu_new",
                               .activation_key = "hidden_act"},
                              {.task = LabelTask::token, .weight = "classifier.weight"}};
  Architecture full = architecture;
  full.conditions = {{"attention_type", {"\"original_full\""}}};
  architecture.longest =
      LongestRule{.unit = {"block_size", 64}, .units = 5, .more_units = {"num_random_blocks", 3}};
  architecture.layouts = {std::move(full)};
  return architecture;
}

}  // namespace attnscope
