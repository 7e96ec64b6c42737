// MoE decoders. llama.cpp stacks the experts in one tensor each for gate, up and down.
#include "attnscope/checkpoint/gguf/families/name_tables.h"

namespace attnscope::gguf {
namespace {

using enum Conversion;

/// Experts in some layers and dense MLPs in others, with Llama's names.
void add_experts(GgufFamily& family, std::string_view count) {
  set(family.layer_tensors, {{"ffn_gate_inp", "mlp.gate"}});
  set(family.layer_tensors, expert_names("mlp"));
  add(family.sizes, {{"expert_count", count},
                     {"expert_used_count", "num_experts_per_tok"},
                     {"expert_feed_forward_length", "moe_intermediate_size"}});
}

/// With Mixtral's names: every layer has experts.
void add_block_sparse(GgufFamily& family) {
  const std::string place = "block_sparse_moe";
  drop(family.layer_tensors, {"ffn_gate", "ffn_up", "ffn_down"});
  set(family.layer_tensors, {{"ffn_gate_inp", place + ".gate"}});
  set(family.layer_tensors, expert_names(place, "w1", "w3", "w2"));
  add(family.sizes,
      {{"expert_count", "num_local_experts"}, {"expert_used_count", "num_experts_per_tok"}});
}

GgufFamily mixtral() {
  GgufFamily family = like_llama("llama", "mixtral");
  family.only_if = {.key = "llama.expert_count"};
  add_block_sparse(family);
  // Files from before April 2024.
  const std::string expert = "block_sparse_moe.experts.{number}.";
  set(family.layer_tensors, {{"ffn_gate.{number}", expert + "w1"},
                             {"ffn_up.{number}", expert + "w3"},
                             {"ffn_down.{number}", expert + "w2"}});
  family.lost = "GGUF does not store Mixtral's sliding window: assuming none";
  return family;
}

GgufFamily phimoe() {
  GgufFamily family = like_qwen2("phimoe", "phimoe");
  add_block_sparse(family);
  add(family.sizes, {{"attention.sliding_window", "sliding_window"},
                     {"rope.scaling.original_context_length", "original_max_position_embeddings"}});
  family.lost = "assuming a router jitter of 0.01";
  return family;
}

GgufFamily minimax_m2() {
  GgufFamily family = like_qwen2("minimax-m2", "minimax_m2");
  add_block_sparse(family);
  set(family.layer_tensors, head_norms());
  set(family.layer_tensors, {{.gguf = "exp_probs_b",
                              .transformers = "block_sparse_moe.e_score_correction_bias",
                              .bare = true}});
  family.partly_rotary = true;
  return family;
}

GgufFamily granitemoe() {
  const std::string place = "block_sparse_moe";
  GgufFamily family = like_llama("granitemoe", "granitemoe");
  drop(family.layer_tensors, {"ffn_gate", "ffn_up", "ffn_down"});
  set(family.layer_tensors, {{"ffn_gate_inp", place + ".router.layer"}});
  set(family.layer_tensors, expert_names(place));
  add(family.sizes,
      {{"expert_count", "num_local_experts"}, {"expert_used_count", "num_experts_per_tok"}});
  add(family.numbers, {{"attention.scale", "attention_multiplier"},
                       {"embedding_scale", "embedding_multiplier"},
                       {"residual_scale", "residual_multiplier"},
                       {"logit_scale", "logits_scaling"}});
  return family;
}

GgufFamily granitemoeshared() {
  GgufFamily family = granitemoe();
  family.model_type = "granitemoeshared";
  family.only_if = {.key = "granitemoe.expert_shared_feed_forward_length"};
  family.joins = {{.transformers = "shared_mlp.input_linear.weight",
                   .first = "ffn_gate_shexp.weight",
                   .second = "ffn_up_shexp.weight"}};
  set(family.layer_tensors, {{"ffn_down_shexp", "shared_mlp.output_linear"}});
  add(family.sizes, {{"expert_shared_feed_forward_length", "shared_intermediate_size"}});
  return family;
}

GgufFamily qwen2moe() {
  GgufFamily family = like_qwen2("qwen2moe", "qwen2_moe");
  add_experts(family, "num_experts");
  set(family.layer_tensors, shared_expert_names("mlp.shared_expert"));
  set(family.layer_tensors, {{"ffn_gate_inp_shexp", "mlp.shared_expert_gate", one_row}});
  add(family.sizes, {{"expert_shared_feed_forward_length", "shared_expert_intermediate_size"}});
  family.flags = {{"expert_weights_norm", "norm_topk_prob"}};
  family.assumed = R"({"norm_topk_prob": false})";
  family.bias_key = "qkv_bias";
  family.lost = "assuming that expert weights are not normalized, as in the published models";
  return family;
}

GgufFamily qwen3moe() {
  GgufFamily family = like_qwen2("qwen3moe", "qwen3_moe");
  add_experts(family, "num_experts");
  set(family.layer_tensors, head_norms());
  family.flags = {{"expert_weights_norm", "norm_topk_prob"}};
  family.assumed = R"({"norm_topk_prob": true})";
  family.lost = "assuming normalized expert weights, as in the published models";
  return family;
}

GgufFamily olmoe() {
  GgufFamily family = like_qwen2("olmoe", "olmoe");
  drop(family.layer_tensors, {"ffn_gate", "ffn_up", "ffn_down"});
  add_experts(family, "num_experts");
  set(family.layer_tensors, head_norms());
  family.numbers.push_back({"attention.clamp_kqv", "clip_qkv"});
  return family;
}

GgufFamily glm4moe() {
  GgufFamily family = like_qwen2("glm4moe", "glm4_moe");
  add_experts(family, "n_routed_experts");
  set(family.layer_tensors, shared_expert_names("mlp.shared_experts"));
  set(family.layer_tensors, head_norms());
  set(family.layer_tensors, draft_names());
  drop(family.layer_tensors, {"ffn_norm"});
  set(family.layer_tensors,
      {{"post_attention_norm", "post_attention_layernorm"},
       {.gguf = "exp_probs_b", .transformers = "mlp.gate.e_score_correction_bias", .bare = true}});
  add(family.sizes, {{"expert_group_count", "n_group"}, {"expert_group_used_count", "topk_group"}});
  family.counts = {{"expert_shared_count", "n_shared_experts"},
                   {"leading_dense_block_count", "first_k_dense_replace"}};
  family.numbers.push_back({"expert_weights_scale", "routed_scaling_factor"});
  family.flags = {{"expert_weights_norm", "norm_topk_prob"}};
  family.assumed = R"({"norm_topk_prob": false})";
  family.partly_rotary = true;
  family.head_norm_key = "use_qk_norm";
  return family;
}

GgufFamily dots1() {
  GgufFamily family = glm4moe();
  family.name = "dots1";
  family.model_type = "dots1";
  drop(family.layer_tensors, {"post_attention_norm"});
  set(family.layer_tensors, {{"ffn_norm", "post_attention_layernorm"}});
  family.assumed = R"({"norm_topk_prob": false, "sliding_window": null})";
  family.partly_rotary = false;
  family.head_norm_key = {};
  return family;
}

GgufFamily ernie4_5_moe() {
  GgufFamily family = like_qwen2("ernie4_5-moe", "ernie4_5_moe");
  add_experts(family, "moe_num_experts");
  set(family.layer_tensors, shared_expert_names("mlp.shared_experts"));
  set(family.layer_tensors, {{.gguf = "exp_probs_b",
                              .transformers = "mlp.moe_statics.e_score_correction_bias",
                              .conversion = one_row,
                              .bare = true}});
  add(family.sizes, {{"interleave_moe_layer_step", "moe_layer_interval"}});
  family.counts = {{"expert_shared_count", "moe_num_shared_experts"},
                   {"leading_dense_block_count", "moe_layer_start_index"}};
  family.last_expert_layer = "moe_layer_end_index";
  family.base = 500000;
  family.bias_key = "use_bias";
  return family;
}

GgufFamily hunyuan_moe() {
  GgufFamily family = like_qwen2("hunyuan-moe", "hunyuan_v1_moe");
  drop(family.layer_tensors, {"ffn_gate", "ffn_up", "ffn_down"});
  add_experts(family, "num_experts");
  set(family.layer_tensors, shared_expert_names("mlp.shared_mlp"));
  set(family.layer_tensors, {{"ffn_gate_inp", "mlp.gate.wg"},
                             {"attn_q_norm", "self_attn.query_layernorm"},
                             {"attn_k_norm", "self_attn.key_layernorm"}});
  add(family.sizes, {{"expert_used_count", "moe_topk"}});
  return family;
}

GgufFamily gpt_oss() {
  GgufFamily family = like_qwen2("gpt-oss", "gpt_oss");
  drop(family.layer_tensors, {"ffn_norm", "ffn_gate", "ffn_up", "ffn_down"});
  set(family.layer_tensors, expert_names("mlp"));
  set(family.layer_tensors,
      {{"ffn_gate_inp", "mlp.router"},
       {"post_attention_norm", "post_attention_layernorm"},
       {.gguf = "attn_sinks", .transformers = "self_attn.sinks", .bare = true}});
  add(family.sizes, {{"expert_count", "num_local_experts"},
                     {"expert_used_count", "num_experts_per_tok"},
                     {"expert_feed_forward_length", "intermediate_size"},
                     {"attention.sliding_window", "sliding_window"}});
  family.rope_assumed = R"({"truncate": false})";
  family.lost =
      "assuming the layers with sliding windows, and the limit and slope of the experts' gates, of "
      "the published models";
  return family;
}

/// Rows of queries and keys are ordered as in transformers, whose rotary pairs are also adjacent.
GgufFamily llama4() {
  const std::string place = "feed_forward";
  GgufFamily family = like_qwen2("llama4", "llama4_text");
  set(family.layer_tensors, {{"ffn_gate", place + ".gate_proj"},
                             {"ffn_up", place + ".up_proj"},
                             {"ffn_down", place + ".down_proj"},
                             {"ffn_gate_inp", place + ".router"}});
  set(family.layer_tensors, expert_names(place));
  set(family.layer_tensors, shared_expert_names(place + ".shared_expert"));
  std::erase_if(family.sizes, [](const GgufKey& key) { return key.gguf == "feed_forward_length"; });
  add(family.sizes, {{"feed_forward_length", "intermediate_size_mlp"},
                     {"expert_feed_forward_length", "intermediate_size"},
                     {"expert_count", "num_local_experts"},
                     {"expert_used_count", "num_experts_per_tok"},
                     {"interleave_moe_layer_step", "interleave_moe_layer_step"}});
  family.lost =
      "assuming Llama 4 Scout's layers without RoPE, chunks of the other layers, scaling of "
      "queries with position, and norms of queries and keys";
  return family;
}

/// Maverick, whose queries and keys have no norms. llama.cpp also recognizes it by its number of
/// experts.
GgufFamily llama4_maverick() {
  GgufFamily family = llama4();
  family.only_if = {.key = "llama4.expert_count", .value = "128"};
  family.assumed = R"({"use_qk_norm": false})";
  family.lost =
      "assuming Llama 4 Maverick's layers without RoPE, chunks of the other layers, and scaling of "
      "queries with position; queries and keys have no norms";
  return family;
}

/// Files with this setting have neither chunks nor layers without RoPE.
GgufFamily llama4_without_chunks() {
  GgufFamily family = llama4();
  family.only_if = {.key = "llama4.attention.sliding_window", .value = "0"};
  family.assumed = R"({"attention_chunk_size": null, "no_rope_layer_interval": 1000000})";
  family.lost = "assuming norms of queries and keys, as in Llama 4 Scout";
  return family;
}

}  // namespace

std::vector<GgufFamily> decoders_with_experts() {
  return {mixtral(),         phimoe(),
          minimax_m2(),      granitemoeshared(),
          granitemoe(),      qwen2moe(),
          qwen3moe(),        olmoe(),
          glm4moe(),         dots1(),
          ernie4_5_moe(),    hunyuan_moe(),
          gpt_oss(),         llama4_without_chunks(),
          llama4_maverick(), llama4()};
}

}  // namespace attnscope::gguf
