// Llama and the families that keep its names: Mistral, Qwen2 (biases), Qwen3 (own head_dim, Q and K
// norms), Gemma 1 to 3 (own head_dim, norms around each block).
// Source: huggingface/transformers, models/{llama,mistral,qwen2,qwen2_vl,qwen2_5_vl,qwen3,
// qwen3_vl,gemma,gemma2,gemma3}.
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture llama() {
  using enum Role;
  return {
      .name = "llama",
      .model_types = {"llama"},
      .class_families = {"Llama", "LLaMA"},
      .keys = {.layers = {"num_hidden_layers"},
               .heads = {"num_attention_heads"},
               .kv_heads = {"num_key_value_heads"},
               .head_dim = {"head_dim"},
               .width = {"hidden_size"},
               .mlp_width = {"intermediate_size"}},
      .nested_sizes = {.layers = 32,
                       .heads = 32,
                       .width = 4096,
                       .mlp_width = 11008,
                       .vocabulary = 32000,
                       .context = 2048},
      .prefixes = {"model.", ""},
      .weights =
          {
              {query, "layers.{layer}.self_attn.q_proj.weight"},
              {key, "layers.{layer}.self_attn.k_proj.weight"},
              {value, "layers.{layer}.self_attn.v_proj.weight"},
              {output, "layers.{layer}.self_attn.o_proj.weight"},
              {gate, "layers.{layer}.mlp.gate_proj.weight"},
              {up, "layers.{layer}.mlp.up_proj.weight"},
              {down, "layers.{layer}.mlp.down_proj.weight"},
          },
      .biases = {{{query, key, value, output}, {"attention_bias"}},
                 {{gate, up, down}, {"mlp_bias"}}},
      .embedding = {.tokens = "embed_tokens.weight"},
      .norm = NormRule{.kind = NormKind::rms,
                       .epsilon = {"rms_norm_eps", 1e-6},
                       .attention_input = "layers.{layer}.input_layernorm",
                       .mlp_input = "layers.{layer}.post_attention_layernorm",
                       .last = "norm"},
      .rope = RopeRule{},
      .activation_key = "hidden_act",
      .activation = "silu",
      .head = {.weight = {"lm_head.weight"}},
      .tied_by_default = false,
      .buffers = {"*.rotary_emb.inv_freq"},
  };
}

Architecture mistral() {
  Architecture architecture = like_llama("mistral", "Mistral");
  architecture.keys.kv_heads.fallback = 8;
  architecture.biases.clear();
  architecture.window = WindowRule{.size = {"sliding_window", 4096}};
  architecture.nested_sizes.mlp_width = 14336;
  architecture.nested_sizes.context = 131072;
  return architecture;
}

Architecture qwen2() {
  using enum Role;
  Architecture architecture = like_llama("qwen2", "Qwen2");
  architecture.keys.kv_heads.fallback = 32;
  architecture.biases = {{{query, key, value}}};
  architecture.window = WindowRule{.size = {"sliding_window", 4096},
                                   .enabled = {"use_sliding_window"},
                                   .layers = WindowedLayers::from_layer,
                                   .number = {"max_window_layers", 28},
                                   .reads_layer_types = true};
  return architecture;
}

/// Of the text model of Qwen2-VL and Qwen2.5-VL: their files name all sizes, at the top or nested.
Architecture qwen2_vl() {
  Architecture architecture = qwen2();
  architecture.name = "qwen2_vl";
  architecture.model_types = {"qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text"};
  architecture.class_families = {"Qwen2VL", "Qwen2_5_VL"};
  architecture.prefixes = {"model.language_model.", "model.", ""};
  architecture.keys.kv_heads.fallback = 8;
  architecture.norm->epsilon.fallback = 1e-5;
  architecture.window->number = {"max_window_layers", 80};
  return architecture;
}

Architecture qwen3() {
  using enum Role;
  Architecture architecture = like_llama("qwen3", "Qwen3");
  architecture.keys.kv_heads.fallback = 32;
  architecture.keys.head_dim.fallback = 128;
  architecture.biases = {{{query, key, value, output}, {"attention_bias"}}};
  norm_heads(architecture, HeadNormAxis::head);
  architecture.window = qwen2().window;
  return architecture;
}

Architecture qwen3_vl() {
  Architecture architecture = qwen3();
  architecture.name = "qwen3_vl";
  architecture.model_types = {"qwen3_vl", "qwen3_vl_text"};
  architecture.class_families = {"Qwen3VL"};
  architecture.window = {};
  return architecture;
}

Architecture gemma() {
  Architecture architecture = like_llama("gemma", "Gemma");
  architecture.keys.kv_heads.fallback = 16;
  architecture.keys.head_dim.fallback = 256;
  architecture.biases = qwen3().biases;
  architecture.embedding.times_sqrt_width = {"", true};
  architecture.norm->gain_offset = {"norm_gain_offset", 1};  // GGUF keeps gains whole
  architecture.activation = "gelu_pytorch_tanh";
  architecture.gelu_means = "gelu_pytorch_tanh";
  architecture.tied_by_default = true;
  architecture.both_ways.unclear = {"use_bidirectional_attention"};
  return architecture;
}

Architecture gemma2() {
  Architecture architecture = gemma();
  architecture.both_ways = {};  // use_bidirectional_attention is there, and not used
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
  architecture.scores.soft_cap = {};  // the key is there, and not used
  architecture.window->layers = WindowedLayers::but_every;
  architecture.window->number = {"sliding_window_pattern", 6};
  architecture.both_ways.flag = {"use_bidirectional_attention"};
  architecture.rope = RopeRule{.theta = 1e6, .local_theta_key = "rope_local_base_freq"};
  architecture.head.soft_cap = {"final_logit_softcapping"};
  return architecture;
}

}  // namespace attnscope
