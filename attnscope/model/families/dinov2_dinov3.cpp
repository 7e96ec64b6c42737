// DINOv2 (with and without registers) and DINOv3: vision encoders that scale the outputs of
// attention and MLP. Source: huggingface/transformers,
// models/{dinov2,dinov2_with_registers,dinov3_vit}.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture vit();

namespace {

Architecture like_vit(const std::string& name, const std::string& family) {
  Architecture architecture = vit();
  architecture.name = name;
  architecture.model_types = {name};
  architecture.class_families = {family};
  architecture.prefixes = {name + ".", ""};
  return architecture;
}

/// Two variants. The second has a gated MLP that stores gate and up in one tensor.
Architecture like_dinov2(const std::string& name, const std::string& family) {
  using enum Role;
  const std::string layer = "encoder.layer.{layer}.";
  Architecture plain = like_vit(name, family);
  plain.patches->other_sizes = OtherSizes::cubic;
  plain.head.pooling = Pooling::first_and_mean;
  plain.keys.mlp_width = {};
  plain.keys.mlp_ratio = {"mlp_ratio", 4};
  plain.norm->epsilon.fallback = 1e-6;
  plain.norm->attention_input = layer + "norm1";
  plain.norm->mlp_input = layer + "norm2";
  plain.multipliers.attention = layer + "layer_scale1.lambda1";
  plain.multipliers.mlp = layer + "layer_scale2.lambda1";
  Architecture gated = plain;
  plain.weights[4].tensor = layer + "mlp.fc1.weight";
  plain.weights[5].tensor = layer + "mlp.fc2.weight";
  const std::string both = layer + "mlp.weights_in.weight";
  gated.weights[4] = {.role = gate, .tensor = both, .fused = {gate, up}};
  gated.weights[5] = {.role = up, .tensor = both, .fused = {gate, up}};
  gated.weights.push_back({down, layer + "mlp.weights_out.weight"});
  gated.keys.mlp_adjusted = {.enabled = {"", true}, .factor = {"", 1}, .multiple = {"", 8}};
  gated.activation_key.clear();
  gated.activation = "silu";
  gated.biases.back().roles.push_back(gate);
  gated.conditions = {{"use_swiglu_ffn", {"true"}}};
  plain.layouts = {gated};
  return plain;
}

}  // namespace

Architecture dinov2() { return like_dinov2("dinov2", "Dinov2"); }

Architecture dinov2_with_registers() {
  Architecture out = like_dinov2("dinov2_with_registers", "Dinov2WithRegisters");
  const auto with_registers = [](Architecture& architecture) {
    architecture.patches->registers = "embeddings.register_tokens";
    architecture.patches->register_count = {"num_register_tokens", 4};
    architecture.patches->other_sizes = OtherSizes::wide_cubic;
    architecture.head.pooling = Pooling::first_and_patches;
  };
  with_registers(out);
  for (Architecture& layout : out.layouts) with_registers(layout);
  return out;
}

Architecture dinov3_vit() {
  using enum Role;
  const std::string layer = "layer.{layer}.", attention = layer + "attention.",
                    mlp = layer + "mlp.";
  Architecture plain = like_vit("dinov3_vit", "DINOv3ViT");
  plain.prefixes = {"", "model.", "dinov3_vit."};
  plain.keys.heads.fallback = 6;
  plain.keys.width.fallback = 384;
  plain.keys.mlp_width.fallback = 1536;
  plain.weights = {{query, attention + "q_proj.weight"}, {key, attention + "k_proj.weight"},
                   {value, attention + "v_proj.weight"}, {output, attention + "o_proj.weight"},
                   {up, mlp + "up_proj.weight"},         {down, mlp + "down_proj.weight"}};
  plain.biases = {{{query}, {"query_bias", true}},
                  {{key}, {"key_bias", false}},
                  {{value}, {"value_bias", true}},
                  {{output}, {"proj_bias", true}},
                  {{up, down}, {"mlp_bias", true}}};
  plain.patches = PatchRule{.projection = "embeddings.patch_embeddings.weight",
                            .tokens = {"embeddings.cls_token"},
                            .registers = "embeddings.register_tokens",
                            .register_count = {"num_register_tokens", 0},
                            .other_sizes = OtherSizes::as_they_come,
                            .rotation = {"rope_theta", 100}};
  plain.head = {};
  plain.norm = NormRule{.epsilon = {"layer_norm_eps", 1e-5},
                        .attention_input = layer + "norm1",
                        .mlp_input = layer + "norm2",
                        .last = "norm",
                        .shows_last = false};
  plain.multipliers.attention = layer + "layer_scale1.lambda1";
  plain.multipliers.mlp = layer + "layer_scale2.lambda1";
  Architecture gated = plain;
  gated.weights.push_back({gate, mlp + "gate_proj.weight"});
  gated.biases.back().roles.push_back(gate);
  gated.conditions = {{"use_gated_mlp", {"true"}}};
  plain.layouts = {gated};
  return plain;
}

}  // namespace attnscope
