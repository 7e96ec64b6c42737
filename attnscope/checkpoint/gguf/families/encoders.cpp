// Encoders. Their files do not contain the masked-language-model head.
#include "attnscope/checkpoint/gguf/families/name_tables.h"

namespace attnscope::gguf {
namespace {

using enum Conversion;

GgufFamily bert() {
  return {
      .name = "bert",
      .model_type = "bert",
      .tensors = {{"token_embd", "embeddings.word_embeddings"},
                  {"position_embd", "embeddings.position_embeddings"},
                  {"token_types", "embeddings.token_type_embeddings"},
                  {"token_embd_norm", "embeddings.LayerNorm"}},
      .layer_prefix = "encoder.layer.",
      .layer_tensors = {{"attn_q", "attention.self.query"},
                        {"attn_k", "attention.self.key"},
                        {"attn_v", "attention.self.value"},
                        {"attn_output", "attention.output.dense"},
                        {"attn_output_norm", "attention.output.LayerNorm"},
                        {"ffn_up", "intermediate.dense"},
                        {"ffn_down", "output.dense"},
                        {"layer_output_norm", "output.LayerNorm"}},
      .sizes = sizes_with({}),
      .numbers = {{"attention.layer_norm_epsilon", "layer_norm_eps"}},
      .rotary = false,
      .causal = false,
      .has_head = false,
      .lost =
          "GGUF does not store the LM head and the pooler; assuming gelu as activation of the MLP",
  };
}

/// Only the tokenizer distinguishes these models from BERT.
GgufFamily roberta(std::string_view model_type, std::string_view tokenizer) {
  GgufFamily family = bert();
  family.model_type = model_type;
  family.only_if = {.key = "tokenizer.ggml.model", .value = tokenizer};
  set(family.tensors, {{"position_embd", "embeddings.position_embeddings", after_padding}});
  family.assumed = R"({"pad_token_id": 1})";
  family.lost =
      "GGUF does not store the LM head, the pooler and the position embeddings up to the padding "
      "row; assuming gelu as activation of the MLP";
  return family;
}

GgufFamily nomic_bert() {
  return {
      .name = "nomic-bert",
      .model_type = "nomic_bert",
      .tensors = {{"token_embd", "embeddings.word_embeddings"},
                  {"token_types", "embeddings.token_type_embeddings"},
                  {"token_embd_norm", "emb_ln"}},
      .layer_prefix = "encoder.layers.",
      .layer_tensors = {{"attn_qkv", "attn.Wqkv"},
                        {"attn_output", "attn.out_proj"},
                        {"attn_output_norm", "norm1"},
                        {"ffn_up", "mlp.fc11"},
                        {"ffn_gate", "mlp.fc12"},
                        {"ffn_down", "mlp.fc2"},
                        {"layer_output_norm", "norm2"}},
      .sizes = sizes_with({{"attention.key_length", "head_dim"}}),
      .numbers = {{"attention.layer_norm_epsilon", "layer_norm_eps"}},
      .base = 1000,
      .causal = false,
      .has_head = false,
      .lost = "GGUF does not store the LM head and the pooler",
  };
}

GgufFamily modern_bert() {
  return {
      .name = "modern-bert",
      .model_type = "modernbert",
      .tensors = {{"token_embd", "model.embeddings.tok_embeddings"},
                  {"token_embd_norm", "model.embeddings.norm"},
                  {"output_norm", "model.final_norm"},
                  {"cls", "head.dense"},
                  {"cls.norm", "head.norm"}},
      .layer_prefix = "model.layers.",
      .layer_tensors = {{"attn_norm", "attn_norm"},
                        {"attn_qkv", "attn.Wqkv"},
                        {"attn_output", "attn.Wo"},
                        {"ffn_norm", "mlp_norm"},
                        {"ffn_up", "mlp.Wi"},
                        {"ffn_down", "mlp.Wo"}},
      .sizes = sizes_with({{"attention.sliding_window", "local_attention"},
                           {"attention.sliding_window_pattern", "global_attn_every_n_layers"}}),
      .numbers = {{"attention.layer_norm_epsilon", "norm_eps"}},
      .assumed = R"({"tie_word_embeddings": false})",  // the head's bias is missing, too
      .base = 160000,
      .base_by_kind = true,
      .causal = false,
      .has_head = false,
      .lost = "GGUF does not store the LM head",
  };
}

}  // namespace

std::vector<GgufFamily> encoders() {
  return {roberta("xlm-roberta", "t5"), roberta("roberta", "gpt2"), bert(), nomic_bert(),
          modern_bert()};
}

}  // namespace attnscope::gguf
