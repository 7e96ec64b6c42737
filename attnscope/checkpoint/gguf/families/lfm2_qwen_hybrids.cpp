// Hybrid decoders, with attention in some layers. Source: ggml-org/llama.cpp, conversion/lfm2.py
// and conversion/qwen.py.
#include "attnscope/checkpoint/gguf/families/name_tables.h"

namespace attnscope::gguf {
namespace {

using enum Conversion;

/// Layers without key/value heads have a short convolution.
GgufFamily lfm2() {
  GgufFamily family = like_qwen2("lfm2", "lfm2");
  drop(family.tensors, {"output_norm"});
  set(family.tensors,
      {{"token_embd_norm", "model.embedding_norm"}, {"output_norm", "model.embedding_norm"}});
  set(family.layer_tensors, {{"attn_norm", "operator_norm"},
                             {"attn_q_norm", "self_attn.q_layernorm"},
                             {"attn_k_norm", "self_attn.k_layernorm"},
                             {"attn_output", "self_attn.out_proj"},
                             {"ffn_norm", "ffn_norm"},
                             {"ffn_gate", "feed_forward.w1"},
                             {"ffn_up", "feed_forward.w3"},
                             {"ffn_down", "feed_forward.w2"},
                             {"shortconv.in_proj", "conv.in_proj"},
                             {"shortconv.conv", "conv.conv", one_channel},
                             {"shortconv.out_proj", "conv.out_proj"}});
  add(family.sizes, {{"shortconv.l_cache", "conv_L_cache"}});
  family.numbers = {{"attention.layer_norm_rms_epsilon", "norm_eps"}};
  // The MLP size in the file is the result of config.json's adjustment.
  family.assumed = R"({"block_auto_adjust_ff_dim": false})";
  family.base = 1000000;
  family.kind_without_kv = "conv";
  return family;
}

/// Gated DeltaNet in layers without attention. Queries are interleaved with their gates in both
/// forms.
GgufFamily with_linear_attention(std::string_view name, std::string_view model_type) {
  GgufFamily family = like_qwen2(name, model_type);
  set(family.layer_tensors, head_norms());
  drop(family.layer_tensors, {"ffn_norm"});
  set(family.layer_tensors,
      {{"post_attention_norm", "post_attention_layernorm"}, {"ssm_norm", "linear_attn.norm"}});
  add(family.sizes, {{"full_attention_interval", "full_attention_interval"},
                     {"ssm.conv_kernel", "linear_conv_kernel_dim"},
                     {"ssm.state_size", "linear_key_head_dim"},
                     {"ssm.group_count", "linear_num_key_heads"},
                     {"ssm.time_step_rank", "linear_num_value_heads"}});
  family.linear_attention = true;
  family.whole_gains = true;
  family.partly_rotary = true;
  family.lost =
      "norm gains are stored as 1 + w and decay rates as exp(w), so the lowest bits of w are lost";
  return family;
}

void add_qwen_experts(GgufFamily& family) {
  drop(family.layer_tensors, {"ffn_gate", "ffn_up", "ffn_down"});
  set(family.layer_tensors, expert_names("mlp"));
  set(family.layer_tensors, shared_expert_names("mlp.shared_expert"));
  set(family.layer_tensors,
      {{"ffn_gate_inp", "mlp.gate"}, {"ffn_gate_inp_shexp", "mlp.shared_expert_gate", one_row}});
  add(family.sizes, {{"expert_count", "num_experts"},
                     {"expert_used_count", "num_experts_per_tok"},
                     {"expert_feed_forward_length", "moe_intermediate_size"},
                     {"expert_shared_feed_forward_length", "shared_expert_intermediate_size"}});
}

GgufFamily qwen3next() {
  GgufFamily family = with_linear_attention("qwen3next", "qwen3_next");
  add_qwen_experts(family);
  family.joins = {{.transformers = "linear_attn.in_proj_qkvz.weight",
                   .first = "attn_qkv.weight",
                   .second = "attn_gate.weight",
                   .order = GgufJoin::Order::key_heads}};
  set(family.layer_tensors,
      {{"ssm_in", "linear_attn.in_proj_qkvz"},  // files from before February 2026
       {"ssm_ba", "linear_attn.in_proj_ba"},
       {"ssm_conv1d", "linear_attn.conv1d", one_channel},
       {"ssm_out", "linear_attn.out_proj"},
       {.gguf = "ssm_a", .transformers = "linear_attn.A_log", .bare = true},
       {.gguf = "ssm_dt", .transformers = "linear_attn.dt_bias", .bare = true}});
  family.flags = {{"expert_weights_norm", "norm_topk_prob"}};
  family.lost =
      "norm gains are stored as 1 + w and decay rates as exp(w), so the lowest bits of w are lost; "
      "assuming normalized expert weights, as in the published models";
  return family;
}

GgufFamily qwen35() {
  GgufFamily family = with_linear_attention("qwen35", "qwen3_5_text");
  set(family.layer_tensors, {{"attn_qkv", "linear_attn.in_proj_qkv", value_rows_after_keys},
                             {"attn_gate", "linear_attn.in_proj_z", value_rows},
                             {"ssm_beta", "linear_attn.in_proj_b", value_rows},
                             {"ssm_alpha", "linear_attn.in_proj_a", value_rows},
                             {"ssm_conv1d", "linear_attn.conv1d", value_channels},
                             {"ssm_out", "linear_attn.out_proj", value_columns},
                             {.gguf = "ssm_a",
                              .transformers = "linear_attn.A_log",
                              .conversion = value_rows,
                              .bare = true},
                             {.gguf = "ssm_dt",
                              .transformers = "linear_attn.dt_bias",
                              .conversion = value_rows,
                              .bare = true}});
  set(family.layer_tensors, draft_names());
  return family;
}

GgufFamily qwen35moe() {
  GgufFamily family = qwen35();
  family.name = "qwen35moe";
  family.model_type = "qwen3_5_moe_text";
  add_qwen_experts(family);
  return family;
}

}  // namespace

std::vector<GgufFamily> hybrid_decoders() { return {lfm2(), qwen3next(), qwen35(), qwen35moe()}; }

}  // namespace attnscope::gguf
