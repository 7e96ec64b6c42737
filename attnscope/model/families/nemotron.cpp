// Nemotron: LayerNorms that store gains minus 1, RoPE on half of each head, and an MLP of two
// matrices. Nemotron-H: Mamba-2 in most layers. Source: huggingface/transformers,
// models/{nemotron,nemotron_h}.
#include "attnscope/model/families/expert_tensors.h"
#include "attnscope/model/families/like_llama.h"
#include "attnscope/model/families/mamba_layers.h"

namespace attnscope {

Architecture nemotron() {
  Architecture architecture = like_llama("nemotron", "Nemotron");
  remove_gate(architecture);
  architecture.norm->kind = NormKind::layer;
  architecture.norm->epsilon = {"norm_eps", 1e-5};
  architecture.norm->gain_offset = {"norm_gain_offset", 1};  // GGUF stores 1 + gain
  architecture.rope->fraction_key = "partial_rotary_factor";
  architecture.rope->fraction = 0.5;
  architecture.activation = "relu2";
  return architecture;
}

/// Each layer is a single block: Mamba, attention, an MLP or experts. The experts of a layer may
/// read one shared low-dimensional projection of the residual stream.
Architecture nemotron_h() {
  using enum Role;
  const std::string mixer = "layers.{layer}.mixer.";
  Architecture architecture = like_llama("nemotron_h", "NemotronH");
  architecture.prefixes = {"backbone.", "model.", ""};
  architecture.keys.kv_heads.fallback = 8;
  architecture.keys.head_dim = {"head_dim", 128, "attention_head_dim"};
  architecture.weights = {{query, mixer + "q_proj.weight"},
                          {key, mixer + "k_proj.weight"},
                          {value, mixer + "v_proj.weight"},
                          {output, mixer + "o_proj.weight"},
                          {up, mixer + "up_proj.weight"},
                          {down, mixer + "down_proj.weight"},
                          {router, mixer + "gate.weight"},
                          {shared_up, mixer + "shared_experts.up_proj.weight"},
                          {shared_down, mixer + "shared_experts.down_proj.weight"}};
  architecture.biases = {};
  architecture.embedding.tokens = "embeddings.weight";
  architecture.norm = NormRule{.kind = NormKind::rms,
                               .epsilon = {"layer_norm_epsilon", 1e-5},
                               .attention_input = "layers.{layer}.norm",
                               .last = "norm_f"};
  architecture.rope.reset();
  architecture.activation_key = "mlp_hidden_act";
  architecture.activation = "relu2";
  MoeRule rule = biased_router("layers.{layer}.mixer");
  rule.default_experts = 8;
  rule.default_chosen = 2;
  rule.width.fallback = 7688;
  rule.inputs = {"moe_latent_size"};
  rule.latent_down = mixer + "fc1_latent_proj.weight";
  rule.latent_up = mixer + "fc2_latent_proj.weight";
  rule.layers = {.by_kind = true};
  rule.tensors = {tensors_of_each_expert("layers.{layer}.mixer", "")};
  rule.normalize = {"norm_topk_prob", true};
  rule.shared_width = {"moe_shared_expert_intermediate_size", 7688};
  architecture.experts = std::make_shared<MoeRule>(std::move(rule));
  const auto alone = [](const char* name, const char* what, AfterMixer after) {
    return LayerKind{.name = name, .attends = false, .mixer = what, .after = after};
  };
  using enum AfterMixer;
  const LayerKind attention = {.name = "full_attention", .attends = true, .after = nothing};
  LayerKind star = attention, old = attention;
  star.name = "*";
  old.name = "attention";
  architecture.mixers = std::make_shared<MixerRule>(MixerRule{
      .kinds = {attention, old, alone("linear_attention", kMamba2, nothing),
                alone("mamba", kMamba2, nothing), alone("mlp", "an MLP", mlp),
                alone("moe", "experts", experts)},
      .list_keys = {"layers_block_type", "layer_types"},
      .letters_key = "hybrid_override_pattern",
      .letters = {star, alone("M", kMamba2, nothing), alone("-", "an MLP", mlp),
                  alone("E", "experts", experts)},
      .lists_every_layer = true,
      .mamba2 = Mamba2Rule{.heads = {"mamba_num_heads", 128},
                           .head_dim = {"mamba_head_dim", 64},
                           .groups = {"n_groups", 8, "mamba_n_groups"},
                           .state_dim = {"ssm_state_size", 128},
                           .kernel = {"conv_kernel", 4, "mamba_d_conv"},
                           .place = "layers.{layer}.mixer",
                           .biased = {"use_bias", false},
                           .output_biased = {"use_bias", false},
                           .convolution_biased = {"use_conv_bias", true, "mamba_conv_bias"},
                           .activation_key = "mamba_hidden_act",
                           .least_step = {"time_step_min", 0.001},
                           .heads_fill_channels = false}});
  return architecture;
}

}  // namespace attnscope
