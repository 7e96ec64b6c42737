// CLIP and SigLIP: a text tower and a vision tower. Source: huggingface/transformers,
// models/{clip,siglip}.
#include "attnscope/model/families/bart_marian_pegasus_m2m100.h"
#include "attnscope/model/families/encoder_decoder.h"

namespace attnscope {
namespace {

using enum Role;

/// `tower`: "text" or "vision".
Architecture clip_tower(const std::string& tower, std::int64_t width, std::int64_t heads) {
  const std::string model = tower + "_model.", layer = model + "encoder.layers.{layer}.";
  Architecture out{.stack = tower,
                   .keys = {.layers = {"num_hidden_layers", 12},
                            .heads = {"num_attention_heads", heads},
                            .width = {"hidden_size", width},
                            .mlp_width = {"intermediate_size", 4 * width},
                            .vocabulary = {},
                            .context = {}},
                   .weights = bart_attention(layer + "self_attn"),
                   .biases = {{{query, key, value, output, up, down}}},
                   .norm = NormRule{.epsilon = {"layer_norm_eps", 1e-5},
                                    .attention_input = layer + "layer_norm1",
                                    .mlp_input = layer + "layer_norm2",
                                    .shows_last = false},
                   .activation_key = "hidden_act",
                   .activation = "quick_gelu",
                   .tied_by_default = false,
                   .causal = {"", false},
                   .section = tower + "_config",
                   .buffers = {model + "embeddings.position_ids"}};
  out.weights.insert(out.weights.end(),
                     {{up, layer + "mlp.fc1.weight"}, {down, layer + "mlp.fc2.weight"}});
  return out;
}

Architecture text_tower(std::int64_t width, std::int64_t heads, std::int64_t vocabulary,
                        std::int64_t context) {
  Architecture out = clip_tower("text", width, heads);
  out.keys.vocabulary = {"vocab_size", vocabulary};
  out.keys.context = {"max_position_embeddings", context};
  out.embedding = {.tokens = "text_model.embeddings.token_embedding.weight",
                   .positions = "text_model.embeddings.position_embedding.weight"};
  out.norm->last = "text_model.final_layer_norm";
  out.head = {.pooling = Pooling::end_token, .end_token = {"eos_token_id", 49407}};
  out.others = {{"score_scale", "logit_scale"}, {"score_bias", "logit_bias"}};
  return out;
}

Architecture image_tower() {
  Architecture out = clip_tower("vision", 768, 12);
  out.norm->last = "vision_model.post_layernorm";
  out.patches = PatchRule{.projection = "vision_model.embeddings.patch_embedding.weight",
                          .positions = "vision_model.embeddings.position_embedding.weight"};
  out.head = {.score_scale = "logit_scale", .score_bias = "logit_bias"};
  out.others = {{"class_token", "vision_model.embeddings.class_embedding"},
                {"pooler", "vision_model.head.*"}};
  return out;
}

}  // namespace

Architecture clip() {
  Architecture text = text_tower(512, 8, 49408, 77);
  text.causal = {"", true};
  text.head.weight = {"text_projection.weight"};
  Architecture image = image_tower();
  image.patches->patch_size.fallback = 32;
  image.patches->tokens = {"vision_model.embeddings.class_embedding"};
  image.embedding.norm = "vision_model.pre_layrnorm";
  image.head.pooling = Pooling::first;
  image.head.weight = {"visual_projection.weight"};
  return of_stacks("clip", "CLIP", {text, image});
}

Architecture siglip() {
  Architecture text = text_tower(768, 12, 32000, 64), image = image_tower();
  text.head = {.pooling = Pooling::last,
               .weight = {"text_model.head.weight"},
               .bias = {"text_model.head.bias"}};
  text.padding_token = {"pad_token_id", 1};
  image.head.pooling = Pooling::attention;
  image.head.attention = "vision_model.head";
  Architecture whole = of_stacks("siglip", "Siglip", {text, image});
  for (Architecture& tower : whole.stacks) {
    tower.norm->epsilon.fallback = 1e-6;
    tower.activation = "gelu_pytorch_tanh";
  }
  return whole;
}

}  // namespace attnscope
