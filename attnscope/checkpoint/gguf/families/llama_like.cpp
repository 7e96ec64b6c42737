// Dense decoders with Llama's tensor names. Source: ggml-org/llama.cpp, gguf-py/gguf/constants.py
// and tensor_mapping.py, and the classes of conversion/; huggingface/transformers, models/*.
#include "attnscope/checkpoint/gguf/families/name_tables.h"

namespace attnscope::gguf {
namespace {

GgufFamily qwen3(std::string_view name, std::string_view model_type) {
  GgufFamily family = like_qwen2(name, model_type);
  set(family.layer_tensors, head_norms());
  return family;
}

GgufFamily gemma(std::string_view name, std::string_view model_type) {
  GgufFamily family = like_qwen2(name, model_type);
  family.whole_gains = true;
  family.lost = "norm gains are stored as 1 + w, so the lowest bits of w are lost";
  return family;
}

GgufFamily gemma2(std::string_view name, std::string_view model_type) {
  GgufFamily family = gemma(name, model_type);
  set(family.layer_tensors, {{"ffn_norm", "pre_feedforward_layernorm"},
                             {"post_attention_norm", "post_attention_layernorm"},
                             {"post_ffw_norm", "post_feedforward_layernorm"}});
  add(family.sizes, {{"attention.sliding_window", "sliding_window"}});
  add(family.numbers, {{"attn_logit_softcapping", "attn_logit_softcapping"},
                       {"final_logit_softcapping", "final_logit_softcapping"}});
  family.lost =
      "norm gains are stored as 1 + w, so the lowest bits of w are lost; assuming the layers with "
      "sliding windows and the score scale of the published models";
  return family;
}

GgufFamily gemma3() {
  GgufFamily family = gemma2("gemma3", "gemma3_text");
  set(family.layer_tensors, head_norms());
  family.base_by_kind = true;
  return family;
}

/// Gains are stored unchanged.
GgufFamily gemma4() {
  GgufFamily family = gemma2("gemma4", "gemma4_text");
  set(family.tensors, {{"per_layer_token_embd", "model.embed_tokens_per_layer"},
                       {"per_layer_model_proj", "model.per_layer_model_projection"},
                       {"per_layer_proj_norm", "model.per_layer_projection_norm"}});
  set(family.layer_tensors, head_norms());
  set(family.layer_tensors,
      {{"inp_gate", "per_layer_input_gate"},
       {"proj", "per_layer_projection"},
       {"post_norm", "post_per_layer_input_norm"},
       {.gguf = "layer_output_scale", .transformers = "layer_scalar", .bare = true}});
  // add_sizes_by_kind() reads the sizes that depend on the layer type.
  std::erase_if(family.sizes, [](const GgufKey& key) {
    return key.gguf == "feed_forward_length" || key.gguf == "attention.key_length" ||
           key.gguf == "attention.head_count_kv";
  });
  family.counts = {{"embedding_length_per_layer_input", "hidden_size_per_layer_input"},
                   {"attention.shared_kv_layers", "num_kv_shared_layers"}};
  family.numbers = {{"attention.layer_norm_rms_epsilon", "rms_norm_eps"},
                    {"final_logit_softcapping", "final_logit_softcapping"}};
  family.assumed = R"({"final_logit_softcapping": null})";
  family.rotary = false;  // see rope_by_kind()
  family.sizes_by_kind = true;
  family.whole_gains = false;
  family.lost = {};
  return family;
}

/// All experts of a layer are in one tensor, gates before ups.
GgufFamily gemma4_with_experts() {
  GgufFamily family = gemma4();
  family.only_if = {.key = "gemma4.expert_count"};
  set(family.layer_tensors,
      {{"post_ffw_norm_1", "post_feedforward_layernorm_1"},
       {"pre_ffw_norm_2", "pre_feedforward_layernorm_2"},
       {"post_ffw_norm_2", "post_feedforward_layernorm_2"},
       {"ffn_gate_inp", "router.proj"},
       {.gguf = "ffn_gate_inp.scale", .transformers = "router.scale", .bare = true},
       {.gguf = "ffn_gate_up_exps", .transformers = "experts.gate_up_proj", .bare = true},
       {.gguf = "ffn_down_exps", .transformers = "experts.down_proj", .bare = true},
       {.gguf = "ffn_down_exps.scale", .transformers = "router.per_expert_scale", .bare = true}});
  add(family.sizes, {{"expert_count", "num_experts"},
                     {"expert_used_count", "top_k_experts"},
                     {"expert_feed_forward_length", "moe_intermediate_size"}});
  family.assumed = R"({"final_logit_softcapping": null, "enable_moe_block": true})";
  return family;
}

GgufFamily phi2() {
  GgufFamily family = like_qwen2("phi2", "phi");
  set(family.tensors, {{"output_norm", "model.final_layernorm"}});
  drop(family.layer_tensors, {"ffn_norm", "ffn_gate"});
  set(family.layer_tensors,
      {{"attn_output", "self_attn.dense"}, {"ffn_up", "mlp.fc1"}, {"ffn_down", "mlp.fc2"}});
  family.sizes = sizes_with({{"attention.head_count_kv", "num_key_value_heads"}});
  family.numbers = {{"attention.layer_norm_epsilon", "layer_norm_eps"}};
  family.partly_rotary = true;
  family.lost = "assuming gelu_new as activation of the MLP";
  return family;
}

GgufFamily phi3() {
  GgufFamily family = like_qwen2("phi3", "phi3");
  drop(family.layer_tensors, {"attn_q", "attn_k", "attn_v", "ffn_gate"});
  set(family.layer_tensors, {{"attn_qkv", "self_attn.qkv_proj"}, {"ffn_up", "mlp.gate_up_proj"}});
  add(family.sizes, {{"attention.sliding_window", "sliding_window"},
                     {"rope.scaling.original_context_length", "original_max_position_embeddings"}});
  family.partly_rotary = true;
  return family;
}

/// Mistral Small 3, and Ministral 3, whose queries are scaled with their position.
GgufFamily mistral3(std::string_view model_type) {
  GgufFamily family = like_llama("mistral3", model_type);
  family.assumed = R"({"sliding_window": null})";
  return family;
}

GgufFamily ministral3() {
  GgufFamily family = mistral3("ministral3");
  family.only_if = {.key = "mistral3.attention.temperature_scale"};
  return family;
}

GgufFamily granite() {
  GgufFamily family = like_llama("granite", "granite");
  add(family.numbers, {{"attention.scale", "attention_multiplier"},
                       {"embedding_scale", "embedding_multiplier"},
                       {"residual_scale", "residual_multiplier"},
                       {"logit_scale", "logits_scaling"}});
  return family;
}

GgufFamily smollm3() {
  GgufFamily family = like_llama("smollm3", "smollm3");
  family.lost = "assuming that every fourth layer has no RoPE, as in the published models";
  return family;
}

GgufFamily arcee() {
  GgufFamily family = like_llama("arcee", "arcee");
  drop(family.layer_tensors, {"ffn_gate"});
  return family;
}

GgufFamily olmo() {
  GgufFamily family = like_llama("olmo", "olmo");
  family.numbers = {{"attention.clamp_kqv", "clip_qkv"}};
  return family;
}

void norm_after_branches(GgufFamily& family) {
  drop(family.layer_tensors, {"attn_norm", "ffn_norm"});
  set(family.layer_tensors, head_norms());
  set(family.layer_tensors, {{"post_attention_norm", "post_attention_layernorm"},
                             {"post_ffw_norm", "post_feedforward_layernorm"}});
}

GgufFamily olmo2(std::string_view model_type) {
  GgufFamily family = like_qwen2("olmo2", model_type);
  norm_after_branches(family);
  return family;
}

GgufFamily olmo3() {
  GgufFamily family = olmo2("olmo3");
  family.only_if = {.key = "olmo2.attention.sliding_window"};
  family.rope_by_kind = true;
  add(family.sizes, {{"attention.sliding_window", "sliding_window"}});
  return family;
}

GgufFamily exaone4() {
  GgufFamily family = like_qwen2("exaone4", "exaone4");
  norm_after_branches(family);
  add(family.sizes, {{"attention.sliding_window", "sliding_window"}});
  family.assumed = R"({"sliding_window": null})";
  return family;
}

GgufFamily command_r(std::string_view name, std::string_view model_type) {
  GgufFamily family = like_qwen2(name, model_type);
  drop(family.layer_tensors, {"ffn_norm"});
  set(family.layer_tensors, head_norms());
  use_layer_norm(family, "layer_norm_eps");
  add(family.numbers, {{"logit_scale", "logit_scale"}});
  return family;
}

GgufFamily cohere() {
  GgufFamily family = command_r("command-r", "cohere");
  family.head_norm_key = "use_qk_norm";
  return family;
}

GgufFamily cohere2() {
  GgufFamily family = command_r("cohere2", "cohere2");
  add(family.sizes, {{"attention.sliding_window", "sliding_window"}});
  family.lost =
      "assuming that all but every fourth layer have RoPE and a sliding window, as in the "
      "published models";
  return family;
}

GgufFamily starcoder2() {
  GgufFamily family = like_qwen2("starcoder2", "starcoder2");
  drop(family.layer_tensors, {"ffn_gate"});
  set(family.layer_tensors, {{"ffn_up", "mlp.c_fc"}, {"ffn_down", "mlp.c_proj"}});
  use_layer_norm(family, "norm_epsilon");
  family.bias_key = "use_bias";
  family.lost = "GGUF does not store StarCoder 2's sliding window: assuming none";
  return family;
}

GgufFamily stablelm() {
  GgufFamily family = like_qwen2("stablelm", "stablelm");
  set(family.layer_tensors,
      {{"attn_q_norm", "self_attn.q_layernorm.norms.{number}", Conversion::numbered},
       {"attn_k_norm", "self_attn.k_layernorm.norms.{number}", Conversion::numbered}});
  use_layer_norm(family, "layer_norm_eps");
  family.partly_rotary = true;
  family.bias_key = "use_qkv_bias";
  family.head_norm_key = "qk_layernorm";
  return family;
}

GgufFamily ernie4_5() {
  GgufFamily family = like_qwen2("ernie4_5", "ernie4_5");
  family.base = 500000;
  family.bias_key = "use_bias";
  return family;
}

GgufFamily hunyuan_dense() {
  GgufFamily family = like_qwen2("hunyuan-dense", "hunyuan_v1_dense");
  set(family.layer_tensors,
      {{"attn_q_norm", "self_attn.query_layernorm"}, {"attn_k_norm", "self_attn.key_layernorm"}});
  return family;
}

GgufFamily seed_oss() {
  GgufFamily family = like_qwen2("seed_oss", "seed_oss");
  drop(family.layer_tensors, {"ffn_norm"});
  set(family.layer_tensors, {{"post_attention_norm", "post_attention_layernorm"}});
  return family;
}

GgufFamily nemotron() {
  GgufFamily family = like_qwen2("nemotron", "nemotron");
  drop(family.layer_tensors, {"ffn_gate"});
  use_layer_norm(family, "norm_eps");
  family.partly_rotary = true;
  family.whole_gains = true;
  family.lost = "norm gains are stored as 1 + w, so the lowest bits of w are lost";
  return family;
}

GgufFamily glm(std::string_view name, std::string_view model_type) {
  GgufFamily family = like_qwen2(name, model_type);
  drop(family.layer_tensors, {"ffn_gate"});
  set(family.layer_tensors, {{"ffn_up", "mlp.gate_up_proj"}});
  family.partly_rotary = true;
  return family;
}

GgufFamily glm4() {
  GgufFamily family = glm("glm4", "glm4");
  set(family.layer_tensors, {{"post_attention_norm", "post_self_attn_layernorm"},
                             {"post_ffw_norm", "post_mlp_layernorm"}});
  set(family.layer_tensors, draft_names());
  return family;
}

}  // namespace

std::vector<GgufFamily> dense_decoders() {
  return {like_llama("llama", "llama"),
          like_qwen2("qwen2", "qwen2"),
          like_qwen2("qwen2vl", "qwen2_vl"),
          qwen3("qwen3", "qwen3"),
          qwen3("qwen3vl", "qwen3_vl_text"),
          gemma("gemma", "gemma"),
          gemma2("gemma2", "gemma2"),
          gemma3(),
          gemma4_with_experts(),
          gemma4(),
          phi2(),
          phi3(),
          ministral3(),
          mistral3("mistral"),
          granite(),
          smollm3(),
          arcee(),
          olmo(),
          olmo3(),
          olmo2("olmo2"),
          exaone4(),
          cohere(),
          cohere2(),
          starcoder2(),
          stablelm(),
          ernie4_5(),
          hunyuan_dense(),
          seed_oss(),
          nemotron(),
          glm("chatglm", "glm"),
          glm4()};
}

}  // namespace attnscope::gguf
