// XLNet's content stream: BERT with Transformer-XL's relative positions. Source:
// huggingface/transformers, models/xlnet.
#include "attnscope/model/architecture.h"

namespace attnscope {

/// All tokens are in one segment, so the segment term is the same for all keys of a query, and the
/// softmax does not depend on it.
Architecture xlnet() {
  using enum Role;
  const std::string layer = "layer.{layer}.", place = layer + "rel_attn.";
  const auto of_heads = [&](Role role, const char* name, Storage storage) {
    return WeightRule{
        .role = role, .tensor = place + name, .storage = storage, .splits_heads = true};
  };
  Architecture architecture{
      .name = "xlnet",
      .model_types = {"xlnet"},
      .class_families = {"XLNet"},
      .keys = {.layers = {"n_layer", 24, "num_hidden_layers"},
               .heads = {"n_head", 16, "num_attention_heads"},
               .width = {"d_model", 1024, "hidden_size"},
               .mlp_width = {"d_inner", 4096},
               .context = {}},
      .prefixes = {"transformer.", ""},
      .weights = {of_heads(query, "q", Storage::in_by_out),
                  of_heads(key, "k", Storage::in_by_out),
                  of_heads(value, "v", Storage::in_by_out),
                  of_heads(output, "o", Storage::out_by_in),
                  {up, layer + "ff.layer_1.weight"},
                  {down, layer + "ff.layer_2.weight"}},
      .biases = {{{up, down}}},
      .embedding = {.tokens = "word_embedding.weight"},
      .norm = NormRule{.epsilon = {"layer_norm_eps", 1e-12},
                       .attention_sum = place + "layer_norm",
                       .mlp_sum = layer + "ff.layer_norm"},
      .scores = {.relative = RelativeWaveRule{.projection = place + "r",
                                              .content_bias = place + "r_w_bias",
                                              .position_bias = place + "r_r_bias",
                                              .clamp = {"clamp_len"}}},
      .activation_key = "ff_activation",
      .activation = "gelu",
      .head = {.none = "it predicts tokens from a second stream, which is not computed"},
      .label_heads = {{.task = LabelTask::sequence,
                       .weight = "logits_proj.weight",
                       .pooling = LabelPooling::last,
                       .dense = "sequence_summary.summary.weight",
                       .activation = "tanh"},
                      {.task = LabelTask::token, .weight = "classifier.weight"}},
      .others = {{"segment_embedding", place + "seg_embed"},
                 {"segment_bias", place + "r_s_bias"},
                 {"mask_embedding", "mask_emb"}},
      .causal = {"", false},
  };
  architecture.weights.front().bias = place + "r_w_bias";
  architecture.layouts = {
      not_run_if(architecture, {"attn_type", {"\"uni\""}}, "one-way attention is not supported"),
      not_run_if(architecture, {"bi_data", {"true"}},
                 "texts with positions in both directions are not supported")};
  return architecture;
}

}  // namespace attnscope
