// Encoder-decoders, and T5's encoder without decoder.
#include "attnscope/checkpoint/gguf/families/name_tables.h"

namespace attnscope::gguf {
namespace {

/// The tensors of a layer whose MLP is branch `mlp`.
Names t5_layer(std::string_view mlp) {
  const std::string of_mlp = "layer." + std::string(mlp);
  return {{"attn_norm", "layer.0.layer_norm"},
          {"attn_q", "layer.0.SelfAttention.q"},
          {"attn_k", "layer.0.SelfAttention.k"},
          {"attn_v", "layer.0.SelfAttention.v"},
          {"attn_o", "layer.0.SelfAttention.o"},
          {"attn_rel_b", "layer.0.SelfAttention.relative_attention_bias"},
          {"ffn_norm", of_mlp + ".layer_norm"},
          {"ffn_up", of_mlp + ".DenseReluDense.wi"},
          {"ffn_down", of_mlp + ".DenseReluDense.wo"}};
}

GgufFamily t5() {
  Names decoder = t5_layer("2");
  set(decoder, {{"cross_attn_norm", "layer.1.layer_norm"},
                {"cross_attn_q", "layer.1.EncDecAttention.q"},
                {"cross_attn_k", "layer.1.EncDecAttention.k"},
                {"cross_attn_v", "layer.1.EncDecAttention.v"},
                {"cross_attn_o", "layer.1.EncDecAttention.o"},
                {"cross_attn_rel_b", "layer.1.EncDecAttention.relative_attention_bias"}});
  return {
      .name = "t5",
      .model_type = "t5",
      .tensors = {{"token_embd", "shared"},
                  {"output", "lm_head"},
                  {"enc.output_norm", "encoder.final_layer_norm"},
                  {"dec.output_norm", "decoder.final_layer_norm"}},
      .stacks = {{.before = "enc.", .layer_prefix = "encoder.block.", .tensors = t5_layer("1")},
                 {.before = "dec.", .layer_prefix = "decoder.block.", .tensors = decoder}},
      .sizes = {{"embedding_length", "d_model"},
                {"feed_forward_length", "d_ff"},
                {"block_count", "num_layers"},
                {"decoder_block_count", "num_decoder_layers"},
                {"attention.head_count", "num_heads"},
                {"attention.key_length", "d_kv"},
                {"attention.relative_buckets_count", "relative_attention_num_buckets"}},
      .counts = {{"decoder_start_token_id", "decoder_start_token_id"}},
      .numbers = {{"attention.layer_norm_rms_epsilon", "layer_norm_epsilon"}},
      .assumed = R"({"feed_forward_proj": "relu", "is_encoder_decoder": true})",
      .rotary = false,
      .lost =
          "GGUF does not store the activation of the MLP: assuming relu, or gelu if the MLP is "
          "gated",
  };
}

/// A gate distinguishes later models from the first ones.
GgufFamily gated_t5() {
  GgufFamily family = t5();
  family.only_if = {.tensor = "enc.blk.0.ffn_gate.weight"};
  for (std::size_t stack = 0; stack < family.stacks.size(); ++stack) {
    const std::string mlp = "layer." + std::to_string(stack + 1) + ".DenseReluDense.wi_";
    set(family.stacks[stack].tensors, {{"ffn_gate", mlp + "0"}, {"ffn_up", mlp + "1"}});
  }
  family.assumed = R"({"feed_forward_proj": "gated-gelu", "is_encoder_decoder": true})";
  return family;
}

/// In UMT5, every layer has its own table of position biases.
GgufFamily umt5() {
  GgufFamily family = gated_t5();
  family.model_type = "umt5";
  family.only_if = {.tensor = "enc.blk.1.attn_rel_b.weight"};
  return family;
}

GgufFamily encoder_alone(GgufFamily family) {
  family.name = "t5encoder";
  return family;
}

}  // namespace

std::vector<GgufFamily> encoder_decoders() {
  return {umt5(),
          gated_t5(),
          t5(),
          encoder_alone(umt5()),
          encoder_alone(gated_t5()),
          encoder_alone(t5())};
}

}  // namespace attnscope::gguf
