// CLIP, SigLIP and SigLIP 2: a text tower and a vision tower, together or in a file of its own.
// Source: huggingface/transformers, models/{clip,siglip,siglip2}.
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

void set_siglip_norms(Architecture& tower) {
  tower.norm->epsilon.fallback = 1e-6;
  tower.activation = "gelu_pytorch_tanh";
}

Architecture clip_text() {
  Architecture text = text_tower(512, 8, 49408, 77);
  text.causal = {"", true};
  text.head.weight = {"text_projection.weight"};
  return text;
}

Architecture clip_vision() {
  Architecture image = image_tower();
  image.patches->patch_size.fallback = 32;
  image.patches->tokens = {"vision_model.embeddings.class_embedding"};
  image.embedding.norm = "vision_model.pre_layrnorm";
  image.head.pooling = Pooling::first;
  image.head.weight = {"visual_projection.weight"};
  return image;
}

Architecture siglip_text() {
  Architecture text = text_tower(768, 12, 32000, 64);
  set_siglip_norms(text);
  text.head = {.pooling = Pooling::last,
               .weight = {"text_model.head.weight"},
               .bias = {"text_model.head.bias"}};
  text.padding_token = {"pad_token_id", 1};
  return text;
}

Architecture siglip_vision() {
  Architecture image = image_tower();
  set_siglip_norms(image);
  image.head.pooling = Pooling::attention;
  image.head.attention = "vision_model.head";
  return image;
}

/// SigLIP 2 (NaFlex) keeps the aspect ratio of images, and interpolates its positions.
Architecture siglip2_vision() {
  Architecture image = siglip_vision();
  image.patches->patch_count = {"num_patches", 256};
  image.patches->channels_last = true;
  image.patches->other_sizes = OtherSizes::wide_linear;
  return image;
}

/// The tower as a model of its own. Its names have the tower's prefix only if a projection follows,
/// or if an older transformers wrote the file.
Architecture alone(Architecture tower, const std::string& name, const std::string& family) {
  const std::string prefix = tower.stack + "_model.";
  const auto cut = [&](std::string& tensor) {
    if (tensor.starts_with(prefix)) tensor.erase(0, prefix.size());
  };
  for (WeightRule& rule : tower.weights) cut(rule.tensor);
  NormRule& norm = *tower.norm;
  for (std::string* tensor :
       {&norm.attention_input, &norm.mlp_input, &norm.last, &tower.embedding.tokens,
        &tower.embedding.positions, &tower.embedding.norm, &tower.head.attention}) {
    cut(*tensor);
  }
  if (tower.patches) {
    cut(tower.patches->projection);
    cut(tower.patches->positions);
    for (std::string& tensor : tower.patches->tokens) cut(tensor);
  }
  for (TensorRule& rule : tower.others) cut(rule.tensor);
  for (std::vector<std::string>* names : {&tower.head.weight, &tower.head.bias, &tower.buffers}) {
    if (names->empty() || !names->front().starts_with(prefix)) continue;
    names->push_back(names->front().substr(prefix.size()));
  }
  tower.prefixes = {prefix, ""};
  tower.stack.clear();
  tower.section.clear();
  tower.head.score_scale.clear();
  tower.head.score_bias.clear();
  tower.name = name;
  tower.model_types = {name};
  tower.class_families = {family};
  return tower;
}

}  // namespace

Architecture clip() { return of_stacks("clip", "CLIP", {clip_text(), clip_vision()}); }

Architecture clip_text_model() { return alone(clip_text(), "clip_text_model", "CLIPText"); }

Architecture clip_vision_model() { return alone(clip_vision(), "clip_vision_model", "CLIPVision"); }

Architecture siglip() { return of_stacks("siglip", "Siglip", {siglip_text(), siglip_vision()}); }

Architecture siglip_text_model() { return alone(siglip_text(), "siglip_text_model", "SiglipText"); }

Architecture siglip_vision_model() {
  return alone(siglip_vision(), "siglip_vision_model", "SiglipVision");
}

Architecture siglip2() {
  return of_stacks("siglip2", "Siglip2", {siglip_text(), siglip2_vision()});
}

Architecture siglip2_text_model() {
  return alone(siglip_text(), "siglip2_text_model", "Siglip2Text");
}

Architecture siglip2_vision_model() {
  return alone(siglip2_vision(), "siglip2_vision_model", "Siglip2Vision");
}

}  // namespace attnscope
