// GPT, the first one: GPT-2's projections, with norms of the sums after attention and MLP. Source:
// huggingface/transformers, models/openai.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture gpt2();

Architecture openai_gpt() {
  Architecture architecture = gpt2();
  architecture.name = "openai-gpt";
  architecture.model_types = {"openai-gpt"};
  architecture.class_families = {"OpenAIGPT"};
  architecture.keys.mlp_width = {};  // always four times the hidden size
  architecture.embedding = {.tokens = "tokens_embed.weight", .positions = "positions_embed.weight"};
  architecture.norm = NormRule{.epsilon = {"layer_norm_epsilon", 1e-5},
                               .attention_sum = "h.{layer}.ln_1",
                               .mlp_sum = "h.{layer}.ln_2"};
  architecture.scores = {};
  architecture.activation_key = "afn";
  architecture.activation = "gelu_new";
  architecture.gelu_means = "gelu_new";
  architecture.bidirectional.by_is_causal = false;  // its mask is a buffer
  return architecture;
}

}  // namespace attnscope
