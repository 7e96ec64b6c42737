// GPT2Core of daisy-wee: Q, K, V and O stacked in one tensor, and norms without gains. Values are
// mixed with their own embeddings. Layers add the output of earlier layers and the embedding.
// Source: jonathanmiddleton/daisy-wee, models/gpt2/gpt_core.py.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture daisy_gpt2() {
  using enum Role;
  using enum Storage;
  const std::string stacked = "blocks.{layer}.attn.qkvo_w";
  const auto slice = [&](Role role, std::int64_t index) {
    return WeightRule{.role = role, .tensor = stacked, .index = index};
  };
  return {
      .name = "daisy_gpt2",
      .model_types = {"daisy_gpt2"},
      .class_families = {"GPT2Core"},
      .keys = {.layers = {"num_layers"},
               .heads = {"num_heads"},
               .head_dim = {"head_dim"},
               .width = {"model_dim"},
               .mlp_width = {""},
               .context = {"max_seq_len"},
               .contexts = {"training_sequence_length", "val_seq_len"}},
      .weights = {slice(query, 0),
                  slice(key, 1),
                  slice(value, 2),
                  slice(output, 3),
                  {up, "blocks.{layer}.mlp.fc_w"},
                  {down, "blocks.{layer}.mlp.proj_w"}},
      .embedding = {.tokens = "embed.weight"},
      .norm = NormRule{.kind = NormKind::rms,
                       .epsilon = {"", 1.1920929e-07},
                       .bare_heads = {"", true},
                       .bare_values = true,
                       .bare_stream = true},
      .scores = {.scale = {"", 0.12}},
      .rope = RopeRule{.theta_key = "", .theta = 1024, .half_truncated = true},
      .activation = "relu2",
      .head = {.weight = {"lm_head_w"}},
      .daisy = DaisyRule{.scalars = "scalars", .value_tables = "value_embeds.*.weight"},
      .tied_by_default = false,
      .bidirectional = {.by_is_causal = false},
  };
}

}  // namespace attnscope
