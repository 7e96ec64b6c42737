// Audio encoders: wav2vec 2.0, HuBERT and WavLM, whose attention has gated position biases. Source:
// huggingface/transformers, models/{wav2vec2,hubert,wavlm}.
#include "attnscope/model/families/bart_marian_pegasus_m2m100.h"

namespace attnscope {
namespace {

Architecture like_wav2vec2(const std::string& name, const std::string& family) {
  using enum Role;
  const std::string layer = "encoder.layers.{layer}.";
  Architecture out{
      .name = name,
      .model_types = {name},
      .class_families = {family},
      .keys = {.layers = {"num_hidden_layers", 12},
               .heads = {"num_attention_heads", 12},
               .width = {"hidden_size", 768},
               .mlp_width = {"intermediate_size", 3072},
               .vocabulary = {"vocab_size", 32},
               .context = {}},
      .prefixes = {name + ".", ""},
      .weights = bart_attention(layer + "attention"),
      .biases = {{{query, key, value, output, up, down}}},
      .embedding = {.norm = "encoder.layer_norm"},
      .audio = AudioRule{.widths = {"conv_dim", std::vector<std::int64_t>(7, 512)},
                         .kernels = {"conv_kernel", {10, 3, 3, 3, 3, 2, 2}},
                         .strides = {"conv_stride", {5, 2, 2, 2, 2, 2, 2}},
                         .place = "feature_extractor.conv_layers.{number}.conv",
                         .norm = "feature_extractor.conv_layers.{number}.layer_norm",
                         .norm_key = "feat_extract_norm",
                         .projection_norm = "feature_projection.layer_norm",
                         .has_projection_norm = {"feat_proj_layer_norm", true},
                         .projection = "feature_projection.projection.weight",
                         .position_convolution = "encoder.pos_conv_embed.conv",
                         .position_convolution_kernel = {"num_conv_pos_embeddings", 128},
                         .position_convolution_groups = {"num_conv_pos_embedding_groups", 16},
                         .unsupported = {{"conv_pos_batch_norm"}, {"add_adapter"}},
                         .activation_key = "feat_extract_activation"},
      .norm = NormRule{.epsilon = {"layer_norm_eps", 1e-5},
                       .attention_input = layer + "layer_norm",
                       .mlp_input = layer + "final_layer_norm",
                       .last = "encoder.layer_norm",
                       .first = {"do_stable_layer_norm", false},
                       .shows_last = false},
      .activation_key = "hidden_act",
      .activation = "gelu",
      .head = {.weight = {"lm_head.weight"}, .bias = {"lm_head.bias"}},
      .others = {{"mask_token", "masked_spec_embed"},
                 {"convolution", "feature_extractor.*"},
                 {"position_embedding", "encoder.pos_conv_embed.*"},
                 {"adapter", "adapter.*"},
                 {"quantiser", "quantizer.*"}},
      .tied_by_default = false,
      .causal = {"", false},
  };
  out.weights.insert(out.weights.end(), {{up, layer + "feed_forward.intermediate_dense.weight"},
                                         {down, layer + "feed_forward.output_dense.weight"}});
  // In this variant, the encoder's norm follows the last layer instead of preceding the first one.
  Architecture stable = out;
  stable.embedding.norm.clear();
  stable.conditions = {{"do_stable_layer_norm", {"true"}}};
  out.layouts = {stable};
  return out;
}

}  // namespace

Architecture wav2vec2() { return like_wav2vec2("wav2vec2", "Wav2Vec2"); }
Architecture hubert() { return like_wav2vec2("hubert", "Hubert"); }

Architecture wavlm() {
  Architecture out = like_wav2vec2("wavlm", "WavLM");
  const std::string attention = "encoder.layers.{layer}.attention.";
  // All layers use the table of the first one.
  const BucketRule biases{.table = "encoder.layers.0.attention.rel_attn_embed.weight",
                          .count = {"num_buckets", 320},
                          .distant = {"max_bucket_distance", 800},
                          .gate = BucketGate{.linear = attention + "gru_rel_pos_linear.weight",
                                             .factors = attention + "gru_rel_pos_const"}};
  out.scores.buckets = biases;
  for (Architecture& layout : out.layouts) layout.scores.buckets = biases;
  return out;
}

}  // namespace attnscope
