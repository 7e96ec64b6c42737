// Llama and the families that keep its names: Mistral, Qwen2 (biases), Qwen3 (own head_dim, Q and K
// norms), Gemma 1 to 3 (own head_dim, norms around each block).
// Source: huggingface/transformers, models/{llama,mistral,qwen2,qwen3,gemma,gemma2,gemma3}.
#include "attnscope/model/architecture.h"

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
      .others = {{"q.norm", "layers.{layer}.self_attn.q_norm.weight"},
                 {"k.norm", "layers.{layer}.self_attn.k_norm.weight"},
                 {"norm", "layers.{layer}.*layernorm.weight"},
                 {"norm", "norm.weight"}},
      .embedding = "embed_tokens.weight",
      .output_head = {"lm_head.weight"},
      .tied_by_default = false,
      .norm = NormRule{.own = "layers.{layer}.input_layernorm.weight", .centres = false},
      .rope = RopeRule{},
      .buffers = {"*.rotary_emb.inv_freq"},
  };
}

namespace {

Architecture like_llama(const char* name, const char* class_family) {
  Architecture architecture = llama();
  architecture.name = name;
  architecture.model_types = {name};
  architecture.class_families = {class_family};
  return architecture;
}

}  // namespace

Architecture mistral() { return like_llama("mistral", "Mistral"); }
Architecture qwen2() { return like_llama("qwen2", "Qwen2"); }
Architecture qwen3() { return like_llama("qwen3", "Qwen3"); }

Architecture gemma() {
  Architecture architecture = like_llama("gemma", "Gemma");
  architecture.keys.head_dim.fallback = 256;
  architecture.norm->offset = 1;
  architecture.tied_by_default = true;
  return architecture;
}

Architecture gemma2() {
  Architecture architecture = gemma();
  architecture.name = "gemma2";
  architecture.model_types = {"gemma2"};
  architecture.class_families = {"Gemma2"};
  return architecture;
}

Architecture gemma3() {
  Architecture architecture = gemma();
  architecture.name = "gemma3";
  architecture.model_types = {"gemma3_text", "gemma3"};
  architecture.class_families = {"Gemma3", "Gemma3Text"};
  // The multimodal files nest the text model, and their text_config leaves these out.
  architecture.keys.heads.fallback = 8;
  architecture.keys.kv_heads.fallback = 4;
  architecture.keys.vocabulary.fallback = 262208;
  architecture.keys.context.fallback = 131072;
  architecture.rope = RopeRule{.theta = 1e6,
                               .local_theta_key = "rope_local_base_freq",
                               .pattern_key = "sliding_window_pattern",
                               .pattern = 6};
  architecture.prefixes = {"model.", "language_model.model.", "model.language_model.", ""};
  architecture.output_head = {"lm_head.weight", "language_model.lm_head.weight"};
  return architecture;
}

}  // namespace attnscope
