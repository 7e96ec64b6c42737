// BLIP: a vision tower, and a text tower or a text decoder that attends to the image. Source:
// huggingface/transformers, models/blip.
#include "attnscope/model/families/encoder_decoder.h"

namespace attnscope {

Architecture bert();

namespace {

using enum Role;

Architecture blip_vision_tower(const std::string& prefix) {
  const std::string layer = "encoder.layers.{layer}.", qkv = layer + "self_attn.qkv.weight";
  const std::vector<Role> all = {query, key, value};
  return {.stack = "vision",
          .keys = {.layers = {"num_hidden_layers", 12},
                   .heads = {"num_attention_heads", 12},
                   .width = {"hidden_size", 768},
                   .mlp_width = {"intermediate_size", 3072},
                   .vocabulary = {},
                   .context = {}},
          .prefixes = {prefix},
          .weights = {{.role = query, .tensor = qkv, .fused = all},
                      {.role = key, .tensor = qkv, .fused = all},
                      {.role = value, .tensor = qkv, .fused = all},
                      {output, layer + "self_attn.projection.weight"},
                      {up, layer + "mlp.fc1.weight"},
                      {down, layer + "mlp.fc2.weight"}},
          .biases = {{{query, key, value}, {"qkv_bias", true}}, {{output, up, down}}},
          .patches = PatchRule{.image_size = {"image_size", 384},
                               .projection = "embeddings.patch_embedding.weight",
                               .tokens = {"embeddings.class_embedding"},
                               .positions = "embeddings.position_embedding"},
          .norm = NormRule{.epsilon = {"layer_norm_eps", 1e-5},
                           .attention_input = layer + "layer_norm1",
                           .mlp_input = layer + "layer_norm2",
                           .last = "post_layernorm",
                           .shows_last = false},
          .activation_key = "hidden_act",
          .activation = "gelu",
          .others = {{"class_token", "embeddings.class_embedding"}},
          .tied_by_default = false,
          .causal = {"", false},
          .section = "vision_config"};
}

Architecture blip_text_tower(const std::string& prefix) {
  Architecture out = bert();
  out.stack = "text";
  out.keys = {.layers = {"num_hidden_layers", 12},
              .heads = {"num_attention_heads", 8},
              .width = {"hidden_size", 768},
              .mlp_width = {"intermediate_size", 3072},
              .vocabulary = {"vocab_size", 30524},
              .context = {"max_position_embeddings", 512}};
  out.prefixes = {prefix};
  out.embedding.types.clear();
  out.head = {};
  out.label_heads.clear();
  out.head_marker = "cls.predictions.decoder.*";
  out.repeated.clear();
  out.tied_by_default = false;
  out.causal = {"", false};
  out.section = "text_config";
  return out;
}

/// The attention of each text layer to the image, after its self-attention.
Architecture cross_attention(const Architecture& text) {
  Architecture out = text;
  const std::string place = "encoder.layer.{layer}.crossattention.";
  out.weights = {{query, place + "self.query.weight"},
                 {key, place + "self.key.weight"},
                 {value, place + "self.value.weight"},
                 {output, place + "output.dense.weight"}};
  out.biases = {{{query, key, value, output}}};
  out.embedding = {};
  out.norm =
      NormRule{.epsilon = {"layer_norm_eps", 1e-12}, .attention_sum = place + "output.LayerNorm"};
  out.has_mlp = false;
  out.others.clear();
  return as_cross(std::move(out));
}

Architecture blip_alone(Architecture tower, const std::string& name, const std::string& family) {
  tower.stack.clear();
  tower.section.clear();
  tower.name = name;
  tower.model_types = {name};
  tower.class_families = {family};
  return tower;
}

}  // namespace

Architecture blip() {
  Architecture text = blip_text_tower("text_decoder.bert.");
  text.prefixes = {"text_decoder.bert.", "text_encoder.", "text_model."};
  Architecture cross = cross_attention(text);
  const std::string head = "text_decoder.cls.predictions.";
  text.head = {.weight = {head + "decoder.weight"},
               .bias = {head + "decoder.bias", head + "bias"},
               .dense = head + "transform.dense.weight",
               .norm = head + "transform.LayerNorm"};
  set_not_run(text, "attention to an image is not supported");
  set_not_run(cross, text.not_run);
  return of_stacks("blip", "Blip", {text, blip_vision_tower("vision_model."), cross});
}

Architecture blip_vision_model() {
  Architecture out = blip_alone(blip_vision_tower(""), "blip_vision_model", "BlipVision");
  out.prefixes = {"vision_model.", ""};
  return out;
}

Architecture blip_text_model() {
  Architecture out = blip_alone(blip_text_tower(""), "blip_text_model", "BlipText");
  out.prefixes = {"text_model.", "text_encoder.", ""};
  out.others.push_back({"cross_attention", "encoder.layer.*.crossattention.*",
                        "attends to an image, which a text tower alone does not read"});
  return out;
}

}  // namespace attnscope
