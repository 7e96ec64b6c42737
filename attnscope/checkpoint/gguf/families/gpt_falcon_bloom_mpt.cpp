// Decoders with their own tensor names.
#include "attnscope/checkpoint/gguf/families/name_tables.h"

namespace attnscope::gguf {
namespace {

using enum Conversion;

GgufFamily gpt2() {
  return {
      .name = "gpt2",
      .model_type = "gpt2",
      .tensors = {{"token_embd", "transformer.wte"},
                  {"position_embd", "transformer.wpe"},
                  {"output_norm", "transformer.ln_f"},
                  {"output", "lm_head"}},
      .layer_prefix = "transformer.h.",
      .layer_tensors = {{"attn_norm", "ln_1"},
                        {"attn_qkv", "attn.c_attn", turned},
                        {"attn_output", "attn.c_proj", turned},
                        {"ffn_norm", "ln_2"},
                        {"ffn_up", "mlp.c_fc", turned},
                        {"ffn_down", "mlp.c_proj", turned}},
      .sizes = {{"block_count", "n_layer"},
                {"context_length", "n_positions"},
                {"embedding_length", "n_embd"},
                {"feed_forward_length", "n_inner"},
                {"attention.head_count", "n_head"}},
      .numbers = {{"attention.layer_norm_epsilon", "layer_norm_epsilon"}},
      .rotary = false,
      .lost = "assuming gelu_new as activation of the MLP",
  };
}

/// Weights are stored as in Linear, and there is one key/value head.
GgufFamily starcoder() {
  GgufFamily family = gpt2();
  family.name = "starcoder";
  family.model_type = "gpt_bigcode";
  for (GgufName& name : family.layer_tensors) name.conversion = none;
  family.assumed = R"({"multi_query": true})";
  family.lost = "assuming gelu_pytorch_tanh as activation of the MLP";
  return family;
}

GgufFamily gptneox() {
  return {
      .name = "gptneox",
      .model_type = "gpt_neox",
      .tensors = {{"token_embd", "gpt_neox.embed_in"},
                  {"output_norm", "gpt_neox.final_layer_norm"},
                  {"output", "embed_out"}},
      .layer_prefix = "gpt_neox.layers.",
      .layer_tensors = {{"attn_norm", "input_layernorm"},
                        {"attn_qkv", "attention.query_key_value", heads_of_blocks},
                        {"attn_output", "attention.dense"},
                        {"ffn_norm", "post_attention_layernorm"},
                        {"ffn_up", "mlp.dense_h_to_4h"},
                        {"ffn_down", "mlp.dense_4h_to_h"}},
      .sizes = sizes_with({}),
      .numbers = {{"attention.layer_norm_epsilon", "layer_norm_eps"}},
      .partly_rotary = true,
      .lost = "assuming gelu as activation of the MLP",
  };
}

GgufFamily falcon() {
  return {
      .name = "falcon",
      .model_type = "falcon",
      .tensors = {{"token_embd", "transformer.word_embeddings"},
                  {"output_norm", "transformer.ln_f"},
                  {"output", "lm_head"}},
      .layer_prefix = "transformer.h.",
      .layer_tensors = {{"attn_norm", "input_layernorm"},
                        {"attn_qkv", "self_attention.query_key_value", heads_of_blocks},
                        {"attn_output", "self_attention.dense"},
                        {"ffn_up", "mlp.dense_h_to_4h"},
                        {"ffn_down", "mlp.dense_4h_to_h"}},
      .sizes = {{"block_count", "num_hidden_layers"},
                {"context_length", "max_position_embeddings"},
                {"embedding_length", "hidden_size"},
                {"feed_forward_length", "ffn_hidden_size"},
                {"attention.head_count", "num_attention_heads"}},
      .numbers = {{"attention.layer_norm_epsilon", "layer_norm_epsilon"}},
      // llama.cpp supports no other variants.
      .assumed = R"({"alibi": false, "parallel_attn": true, "num_ln_in_parallel_attn": 1})",
      .layout_by_heads = true,
      .bias_key = "bias",
      .lost = "assuming gelu as activation of the MLP",
  };
}

GgufFamily falcon_of_two_norms() {
  GgufFamily family = falcon();
  family.only_if = {.tensor = "blk.0.attn_norm_2.weight"};
  set(family.layer_tensors, {{"attn_norm", "ln_mlp"}, {"attn_norm_2", "ln_attn"}});
  family.assumed = R"({"alibi": false, "parallel_attn": true, "num_ln_in_parallel_attn": 2})";
  return family;
}

GgufFamily bloom() {
  return {
      .name = "bloom",
      .model_type = "bloom",
      .tensors = {{"token_embd", "transformer.word_embeddings"},
                  {"token_embd_norm", "transformer.word_embeddings_layernorm"},
                  {"output_norm", "transformer.ln_f"},
                  {"output", "lm_head"}},
      .layer_prefix = "transformer.h.",
      .layer_tensors = {{"attn_norm", "input_layernorm"},
                        {"attn_qkv", "self_attention.query_key_value", heads_of_blocks},
                        {"attn_output", "self_attention.dense"},
                        {"ffn_norm", "post_attention_layernorm"},
                        {"ffn_up", "mlp.dense_h_to_4h"},
                        {"ffn_down", "mlp.dense_4h_to_h"}},
      .sizes = {{"block_count", "n_layer"},
                {"context_length", "seq_length"},
                {"embedding_length", "hidden_size"},
                {"attention.head_count", "n_head"}},
      .numbers = {{"attention.layer_norm_epsilon", "layer_norm_epsilon"}},
      .rotary = false,
  };
}

GgufFamily mpt() {
  return {
      .name = "mpt",
      .model_type = "mpt",
      .tensors = {{"token_embd", "transformer.wte"},
                  {"output_norm", "transformer.norm_f"},
                  {"output", "lm_head"}},
      .layer_prefix = "transformer.blocks.",
      .layer_tensors = {{"attn_norm", "norm_1"},
                        {"attn_qkv", "attn.Wqkv"},
                        {"attn_output", "attn.out_proj"},
                        {"ffn_norm", "norm_2"},
                        {"ffn_up", "ffn.up_proj"},
                        {"ffn_down", "ffn.down_proj"}},
      .sizes = {{"block_count", "n_layers"},
                {"context_length", "max_seq_len"},
                {"embedding_length", "d_model"},
                {"attention.head_count", "n_heads"}},
      .numbers = {{"attention.layer_norm_epsilon", "layer_norm_epsilon"},
                  {"attention.clamp_kqv", "attn_config.clip_qkv"}},
      .rotary = false,
      .lost = "assuming that scores are divided by the square root of the head dimension",
  };
}

}  // namespace

std::vector<GgufFamily> decoders_of_own_names() {
  return {gpt2(), starcoder(), gptneox(), falcon_of_two_norms(), falcon(), bloom(), mpt()};
}

}  // namespace attnscope::gguf
