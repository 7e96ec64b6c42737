// Encoders of sound: wav2vec 2.0 and HuBERT.
// Source: huggingface/transformers, models/{wav2vec2,hubert}.
#include "attnscope/model/families/bart.h"

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
      .norm = NormRule{.epsilon = {"layer_norm_eps", 1e-5},
                       .attention_input = layer + "layer_norm",
                       .mlp_input = layer + "final_layer_norm",
                       .last = "encoder.layer_norm",
                       .first = {"do_stable_layer_norm", false}},
      .activation_key = "hidden_act",
      .activation = "gelu",
      .not_run = "its input is sound, which is not run",
      .others = {{"mask_token", "masked_spec_embed"},
                 {"convolution", "feature_extractor.*"},
                 {"feature_projection", "feature_projection.*"},
                 {"position_embedding", "encoder.pos_conv_embed.*"},
                 {"adapter", "adapter.*"},
                 {"quantiser", "quantizer.*"}},
      .tied_by_default = false,
      .causal = {"", false},
  };
  out.weights.insert(out.weights.end(), {{up, layer + "feed_forward.intermediate_dense.weight"},
                                         {down, layer + "feed_forward.output_dense.weight"}});
  return out;
}

}  // namespace

Architecture wav2vec2() { return like_wav2vec2("wav2vec2", "Wav2Vec2"); }
Architecture hubert() { return like_wav2vec2("hubert", "Hubert"); }

}  // namespace attnscope
