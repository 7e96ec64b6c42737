// wav2vec2-BERT: a Conformer over spectrograms. Source: huggingface/transformers,
// models/wav2vec2_bert/modeling_wav2vec2_bert.py.
#include "attnscope/model/families/encoder_decoder.h"

namespace attnscope {

Architecture wav2vec2_bert() {
  using enum Role;
  const std::string layer = "encoder.layers.{layer}.", attention = layer + "self_attn.";
  const std::string convolution = layer + "conv_module.";
  Architecture out{
      .name = "wav2vec2-bert",
      .model_types = {"wav2vec2-bert"},
      .class_families = {"Wav2Vec2Bert"},
      .keys = {.layers = {"num_hidden_layers", 24},
               .heads = {"num_attention_heads", 16},
               .width = {"hidden_size", 1024},
               .mlp_width = {"intermediate_size", 4096},
               .vocabulary = {"vocab_size"},
               .context = {}},
      .prefixes = {"wav2vec2_bert.", ""},
      .weights = {{query, attention + "linear_q.weight"},
                  {key, attention + "linear_k.weight"},
                  {value, attention + "linear_v.weight"},
                  {output, attention + "linear_out.weight"},
                  {up, layer + "ffn2.intermediate_dense.weight"},
                  {down, layer + "ffn2.output_dense.weight"}},
      .biases = {{{query, key, value, output, up, down}}},
      .audio = AudioRule{.of_waves = false,
                         .features = {"feature_projection_input_dim", 160},
                         .frames_first = true,
                         .projection_norm = "feature_projection.layer_norm",
                         .projection = "feature_projection.projection.weight",
                         .unsupported = {{"add_adapter"}}},
      .norm = NormRule{.epsilon = {"layer_norm_eps", 1e-5},
                       .attention_input = layer + "self_attn_layer_norm",
                       .mlp_input = layer + "ffn2_layer_norm",
                       .mlp_sum = layer + "final_layer_norm"},
      .activation_key = "hidden_act",
      .activation = "swish",
      .head = {.weight = {"lm_head.weight"}, .bias = {"lm_head.bias"}},
      .conformer = ConformerRule{.first_norm = layer + "ffn1_layer_norm",
                                 .first_up = layer + "ffn1.intermediate_dense.weight",
                                 .first_down = layer + "ffn1.output_dense.weight",
                                 .norm = convolution + "layer_norm",
                                 .inner_norm = convolution + "depthwise_layer_norm",
                                 .expand = convolution + "pointwise_conv1.weight",
                                 .taps = convolution + "depthwise_conv.weight",
                                 .project = convolution + "pointwise_conv2.weight",
                                 .kernel = {"conv_depthwise_kernel_size", 31}},
      .others = {{"mask_token", "masked_spec_embed"},
                 {"position_projection", attention + "linear_pos.weight"},
                 {"position_bias", attention + "pos_bias_*"},
                 {"adapter", "adapter.*"},
                 {"adapter", "intermediate_ffn.*"}},
      .tied_by_default = false,
      .causal = {"", false},
  };
  const std::string kind = "position_embeddings_type";
  Architecture plain = out;
  plain.conditions = {{kind, {"null"}}};
  out.layouts = {plain,
                 not_run_if(out, {kind, {"\"relative\""}},
                            "relative position embeddings of Transformer-XL are not supported"),
                 not_run_if(out, {kind, {"\"rotary\""}},
                            "the attention input is rotated, not queries and keys")};
  out.scores.distances = DistanceRule{.table = attention + "distance_embedding.weight",
                                      .before = {"left_max_position_embeddings", 64},
                                      .after = {"right_max_position_embeddings", 8}};
  return out;
}

}  // namespace attnscope
