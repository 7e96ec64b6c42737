// Gemma 1 to 4, 3n and VaultGemma: head_dim is independent of the hidden size. Gemma 2 and later
// have norms before and after attention and MLP, and a sliding window in some layers. Source:
// huggingface/transformers, models/{gemma,gemma2,gemma3,gemma3n,gemma4,vaultgemma}.
#include "attnscope/model/families/expert_tensors.h"
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture gemma() {
  using enum Role;
  Architecture architecture = like_llama("gemma", "Gemma");
  architecture.keys.kv_heads.fallback = 16;
  architecture.keys.head_dim.fallback = 256;
  architecture.biases = {{{query, key, value, output}, {"attention_bias"}}};
  architecture.embedding.times_sqrt_width = {"", true};
  architecture.norm->gain_offset = {"norm_gain_offset", 1};  // GGUF stores 1 + gain
  architecture.activation = "gelu_pytorch_tanh";
  architecture.gelu_means = "gelu_pytorch_tanh";
  architecture.tied_by_default = true;
  architecture.bidirectional.unclear = {"use_bidirectional_attention"};
  return architecture;
}

Architecture gemma2() {
  Architecture architecture = gemma();
  architecture.bidirectional = {};  // files contain use_bidirectional_attention, but it is not used
  architecture.name = "gemma2";
  architecture.model_types = {"gemma2"};
  architecture.class_families = {"Gemma2"};
  architecture.keys.kv_heads.fallback = 4;
  NormRule& norm = *architecture.norm;
  norm.attention_output = "layers.{layer}.post_attention_layernorm";
  norm.mlp_input = "layers.{layer}.pre_feedforward_layernorm";
  norm.mlp_output = "layers.{layer}.post_feedforward_layernorm";
  architecture.scores = {.scale_dimension = {"query_pre_attn_scalar", 256},
                         .soft_cap = {"attn_logit_softcapping", 50}};
  architecture.window = WindowRule{
      .size = {"sliding_window", 4096}, .layers = WindowedLayers::even, .reads_layer_types = true};
  architecture.activation_key = "hidden_activation";
  architecture.gelu_means.clear();
  architecture.head.soft_cap = {"final_logit_softcapping", 30};
  return architecture;
}

/// Gemma 2 without the norms after attention and MLP.
Architecture vaultgemma() {
  Architecture architecture = gemma2();
  architecture.name = "vaultgemma";
  architecture.model_types = {"vaultgemma"};
  architecture.class_families = {"VaultGemma"};
  architecture.norm->attention_output.clear();
  architecture.norm->mlp_output.clear();
  return architecture;
}

Architecture gemma3() {
  Architecture architecture = gemma2();
  architecture.name = "gemma3";
  architecture.model_types = {"gemma3_text", "gemma3"};
  architecture.class_families = {"Gemma3", "Gemma3Text"};
  architecture.nested_sizes = {.layers = 26,
                               .heads = 8,
                               .width = 2304,
                               .mlp_width = 9216,
                               .vocabulary = 262208,
                               .context = 131072};
  norm_heads(architecture, HeadNormAxis::head);
  architecture.scores.soft_cap = {};  // files may contain the key, but it is not used
  architecture.window->layers = WindowedLayers::but_every;
  architecture.window->number = {"sliding_window_pattern", 6};
  architecture.bidirectional.flag = {"use_bidirectional_attention"};
  architecture.rope = RopeRule{.theta = 1e6, .local_theta_key = "rope_local_base_freq"};
  architecture.head.soft_cap = {"final_logit_softcapping"};
  return architecture;
}

namespace {

/// Every layer has experts; its dense MLP is the shared expert.
Architecture with_experts(Architecture architecture) {
  const std::string place = "layers.{layer}";
  remove_mlp(architecture);
  architecture.weights.push_back({Role::router, place + ".router.proj.weight"});
  add_shared_experts(architecture, place + ".mlp");
  architecture.experts = std::make_shared<MoeRule>(MoeRule{
      .experts = {"num_experts"},
      .chosen = {"top_k_experts"},
      .width = {"moe_intermediate_size"},
      .tensors = {stacked_experts(place + ".experts.gate_up_proj", place + ".experts.down_proj"),
                  tensors_of_each_expert(place)},
      .normalize = {"", true},
      .shared_width = {"intermediate_size", 9216},
      .expert_factors = place + ".router.per_expert_scale",
      .norms = ExpertNorms{.input = place + ".pre_feedforward_layernorm_2",
                           .output = place + ".post_feedforward_layernorm_2",
                           .shared_output = place + ".post_feedforward_layernorm_1",
                           .router_gain = place + ".router.scale"}});
  architecture.conditions = {{"enable_moe_block", {"true"}}};
  return architecture;
}

}  // namespace

/// Full layers have wider heads than those with a window and may have no W_V. The last layers may
/// reuse keys and values of earlier ones. Every layer may have its own input for each token. In MoE
/// models, experts and dense MLP have separate norms.
Architecture gemma4() {
  using enum Role;
  const std::string place = "layers.{layer}.";
  Architecture architecture = like_llama("gemma4", "Gemma4");
  architecture.model_types = {"gemma4_text", "gemma4"};
  architecture.keys.kv_heads.fallback = 4;
  architecture.keys.head_dim.fallback = 256;
  architecture.keys.mlp_width.fallback = 9216;
  architecture.nested_sizes = {.layers = 30,
                               .heads = 8,
                               .width = 2304,
                               .mlp_width = 9216,
                               .vocabulary = 262144,
                               .context = 131072};
  architecture.biases = {{{query, key, value, output}, {"attention_bias"}}};
  architecture.embedding.times_sqrt_width = {"", true};
  NormRule& norm = *architecture.norm;
  norm.attention_output = place + "post_attention_layernorm";
  norm.mlp_input = place + "pre_feedforward_layernorm";
  norm.mlp_output = place + "post_feedforward_layernorm";
  norm_heads(architecture, HeadNormAxis::head);
  norm.bare_values = true;
  architecture.scores.scaled = {"", false};
  architecture.window = WindowRule{.size = {"sliding_window", 512},
                                   .layers = WindowedLayers::but_every,
                                   .number = {"", 6},
                                   .last_is_full = true,
                                   .reads_layer_types = true};
  architecture.shapes = LayerShapeRule{.full_head_dim = {"global_head_dim", 512},
                                       .full_kv_heads = {"num_global_key_value_heads"},
                                       .values_are_keys = {"attention_k_eq_v"},
                                       .sharing_layers = {"num_kv_shared_layers", 0},
                                       .doubles_sharing = {"use_double_wide_mlp"}};
  architecture.rope->standard =
      R"({"full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25,
                             "rope_theta": 1000000},
          "sliding_attention": {"rope_type": "default", "rope_theta": 10000}})";
  architecture.per_layer_input =
      PerLayerInputRule{.width = {"hidden_size_per_layer_input", 256},
                        .table = "embed_tokens_per_layer.weight",
                        .projection = "per_layer_model_projection.weight",
                        .projection_norm = "per_layer_projection_norm",
                        .gate = place + "per_layer_input_gate.weight",
                        .up = place + "per_layer_projection.weight",
                        .norm = place + "post_per_layer_input_norm"};
  architecture.multipliers.layer_output = place + "layer_scalar";
  architecture.activation_key = "hidden_activation";
  architecture.activation = "gelu_pytorch_tanh";
  architecture.head.soft_cap = {"final_logit_softcapping"};
  architecture.tied_by_default = true;
  architecture.bidirectional.condition = {"use_bidirectional_attention", {"\"all\""}};
  architecture.layouts = {with_experts(architecture)};
  return architecture;
}

/// Layers have several residual streams (AltUp) and a low-rank residual (LAuReL), and their MLPs
/// may have sparse gates.
Architecture gemma3n() {
  const std::string place = "layers.{layer}.";
  Architecture architecture = gemma4();
  architecture.name = "gemma3n";
  architecture.model_types = {"gemma3n_text", "gemma3n"};
  architecture.class_families = {"Gemma3n"};
  architecture.layouts.clear();
  architecture.keys.kv_heads.fallback = 2;
  architecture.keys.mlp_width.fallback = 16384;
  architecture.nested_sizes = {.layers = 35,
                               .heads = 8,
                               .width = 2048,
                               .mlp_width = 16384,
                               .vocabulary = 262400,
                               .context = 32768};
  architecture.window->number = {"", 5};
  architecture.window->last_is_full = false;
  architecture.shapes = LayerShapeRule{.sharing_layers = {"num_kv_shared_layers", 15}};
  architecture.rope = RopeRule{.theta = 1e6, .local_theta_key = "rope_local_base_freq"};
  architecture.multipliers.layer_output.clear();
  architecture.head.soft_cap = {"final_logit_softcapping", 30};
  architecture.bidirectional = {};
  architecture.per_layer_input->covers_all = false;
  architecture.altup = AltUpRule{.streams = {"altup_num_inputs", 4},
                                 .active = {"altup_active_idx", 0},
                                 .scaled = {"altup_correct_scale", true},
                                 .place = place + "altup",
                                 .projection = "altup_projections.*.weight",
                                 .last_projection = "altup_unembed_projections.*.weight"};
  architecture.laurel = LaurelRule{.rank = {"laurel_rank", 64},
                                   .left = place + "laurel.linear_left.weight",
                                   .right = place + "laurel.linear_right.weight",
                                   .norm = place + "laurel.post_laurel_norm"};
  architecture.gate_sparsity_key = "activation_sparsity_pattern";
  return architecture;
}

}  // namespace attnscope
