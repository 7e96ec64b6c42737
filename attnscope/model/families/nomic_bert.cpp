// Nomic BERT: BERT's post-norm layers with RoPE, gated MLPs, no biases. Source:
// huggingface/transformers, models/nomic_bert/modeling_nomic_bert.py; tensor names:
// conversion_mapping.py.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture nomic_bert() {
  using enum Role;
  using enum Storage;
  const std::string fused = "encoder.layers.{layer}.attn.Wqkv.weight";
  const std::vector<Role> qkv = {query, key, value};
  return {
      .name = "nomic_bert",
      .model_types = {"nomic_bert"},
      .class_families = {"NomicBert"},
      .keys = {.layers = {"num_hidden_layers", 12, "n_layer"},
               .heads = {"num_attention_heads", 12, "n_head"},
               .head_dim = {"head_dim"},
               .width = {"hidden_size", 768, "n_embd"},
               .mlp_width = {"intermediate_size", 3072, "n_inner"},
               .context = {"max_position_embeddings", 2048, "n_positions"}},
      .prefixes = {"nomic_bert.", ""},  // files on the hub have none
      .weights =
          {
              {query, fused, out_by_in, qkv},
              {key, fused, out_by_in, qkv},
              {value, fused, out_by_in, qkv},
              {output, "encoder.layers.{layer}.attn.out_proj.weight"},
              {gate, "encoder.layers.{layer}.mlp.fc12.weight"},
              {up, "encoder.layers.{layer}.mlp.fc11.weight"},
              {down, "encoder.layers.{layer}.mlp.fc2.weight"},
          },
      .embedding = {.tokens = "embeddings.word_embeddings.weight",
                    .types = "embeddings.token_type_embeddings.weight",
                    .norm = "emb_ln"},
      .norm = NormRule{.epsilon = {"layer_norm_eps", 1e-12},
                       .attention_sum = "encoder.layers.{layer}.norm1",
                       .mlp_sum = "encoder.layers.{layer}.norm2"},
      .rope = RopeRule{.theta = 1000},
      .activation_key = "hidden_act",
      .activation = "silu",
      .head = {.weight = {"cls.predictions.decoder.weight"},
               .bias = {"cls.predictions.decoder.bias", "cls.predictions.bias"},
               .needs_bias = true,
               .dense = "cls.predictions.transform.dense.weight",
               .norm = "cls.predictions.transform.layer_norm"},
      .others = {{"pooler", "pooler.*"}},
      .head_marker = "cls.predictions.*",
      .repeated = {{"cls.predictions.decoder.bias", "cls.predictions.bias"}},
      .causal = {"", false},
      .buffers = {"*.rotary_emb.inv_freq"},
  };
}

}  // namespace attnscope
