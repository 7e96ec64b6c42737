// ViT, its pretrained variants MAE, MSN and VideoMAE, and DeiT (a second class token): vision
// encoders. Source: huggingface/transformers, models/{vit,vit_mae,vit_msn,videomae,deit}.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture vit() {
  using enum Role;
  const std::string layer = "encoder.layer.{layer}.", attention = layer + "attention.attention.";
  return {
      .name = "vit",
      .model_types = {"vit"},
      .class_families = {"ViT"},
      .keys = {.layers = {"num_hidden_layers", 12},
               .heads = {"num_attention_heads", 12},
               .width = {"hidden_size", 768},
               .mlp_width = {"intermediate_size", 3072},
               .vocabulary = {},
               .context = {}},
      .prefixes = {"vit.", ""},
      .weights = {{query, attention + "query.weight"},
                  {key, attention + "key.weight"},
                  {value, attention + "value.weight"},
                  {output, layer + "attention.output.dense.weight"},
                  {up, layer + "intermediate.dense.weight"},
                  {down, layer + "output.dense.weight"}},
      .biases = {{{query, key, value}, {"qkv_bias", true}}, {{output, up, down}}},
      .patches = PatchRule{.projection = "embeddings.patch_embeddings.projection.weight",
                           .tokens = {"embeddings.cls_token"},
                           .positions = "embeddings.position_embeddings"},
      .norm = NormRule{.epsilon = {"layer_norm_eps", 1e-12},
                       .attention_input = layer + "layernorm_before",
                       .mlp_input = layer + "layernorm_after",
                       .last = "layernorm",
                       .shows_last = false},
      .activation_key = "hidden_act",
      .activation = "gelu",
      .head = {.pooling = Pooling::first,
               .weight = {"classifier.weight"},
               .bias = {"classifier.bias"}},
      .others = {{"class_token", "embeddings.cls_token"},
                 {"distillation_token", "embeddings.distillation_token"},
                 {"mask_token", "embeddings.mask_token"},
                 {"pooler", "pooler.*"}},
      .tied_by_default = false,
      .causal = {"", false},
  };
}

Architecture deit() {
  Architecture out = vit();
  out.name = "deit";
  out.model_types = {"deit"};
  out.class_families = {"DeiT"};
  out.prefixes = {"deit.", ""};
  out.patches->tokens.emplace_back("embeddings.distillation_token");
  // The distilled model also has the head that was trained on the teacher's predictions.
  Architecture taught = out;
  taught.head = {.pooling = Pooling::first_two,
                 .second = "distillation_classifier.weight",
                 .weight = {"cls_classifier.weight"},
                 .bias = {"cls_classifier.bias"}};
  taught.conditions = {{"architectures", {R"(["DeiTForImageClassificationWithTeacher"])"}}};
  out.layouts = {taught};
  return out;
}

Architecture vit_mae() {
  Architecture out = vit();
  out.name = "vit_mae";
  out.model_types = {"vit_mae"};
  out.class_families = {"ViTMAE"};
  out.head = {};
  return out;
}

Architecture vit_msn() {
  Architecture out = vit();
  out.name = "vit_msn";
  out.model_types = {"vit_msn"};
  out.class_families = {"ViTMSN"};
  out.norm->epsilon.fallback = 1e-6;
  return out;
}

/// Its patches are tubelets: blocks of several frames.
Architecture videomae() {
  using enum Role;
  Architecture out = vit();
  out.name = "videomae";
  out.model_types = {"videomae"};
  out.class_families = {"VideoMAE"};
  out.prefixes = {"videomae.", ""};
  out.patches.reset();
  out.head.pooling = Pooling::patches;
  out.head.norm = "fc_norm";
  out.others = {{"patch_embedding", "embeddings.patch_embeddings.projection.*"}};
  out.not_run = "videos are not supported";
  Architecture without_bias = out;
  without_bias.conditions = {{"qkv_bias", {"false"}}};
  out.biases = {{{query, value, output, up, down}}};
  const std::string attention = "encoder.layer.{layer}.attention.attention.";
  for (WeightRule& rule : out.weights) {
    if (rule.role == query) rule.bias = attention + "q_bias";
    if (rule.role == value) rule.bias = attention + "v_bias";
  }
  out.layouts = {without_bias};
  return out;
}

}  // namespace attnscope
