// ESM, protein language models: BERT's tensor names for pre-norm layers, with rotary or learned
// positions. Source: huggingface/transformers, models/esm/modeling_esm.py.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture roberta();

Architecture esm() {
  Architecture family = roberta();
  family.name = "esm";
  family.model_types = {"esm"};
  family.class_families = {"Esm"};
  family.prefixes = {"esm.", ""};
  EmbeddingRule& embedding = family.embedding;
  embedding.types.clear();
  embedding.norm = "embeddings.layer_norm";
  embedding.has_norm = {"emb_layer_norm_before"};
  embedding.drops_masked = {"token_dropout"};
  embedding.masked_token = {"mask_token_id"};
  family.norm = NormRule{.epsilon = {"layer_norm_eps", 1e-12},
                         .attention_input = "encoder.layer.{layer}.attention.LayerNorm",
                         .mlp_input = "encoder.layer.{layer}.LayerNorm",
                         .last = "encoder.emb_layer_norm_after"};
  family.activation_key = "";  // hidden_act is not used
  family.head.weight = {"lm_head.decoder.weight"};
  family.head.bias = {"lm_head.bias"};
  family.others = {{"pooler", "pooler.*"}, {"contact_head", "contact_head.*"}};
  family.repeated = {};
  family.buffers = {"*.position_ids", "*.rotary_embeddings.inv_freq"};

  Architecture rotary = family;
  rotary.embedding.positions.clear();
  rotary.embedding.positions_after_padding = false;
  rotary.rope = RopeRule{};
  // Left over from files written before rotary positions; not used.
  rotary.buffers.push_back("*.embeddings.position_embeddings.weight");
  rotary.conditions = {{"position_embedding_type", {"\"rotary\""}}};
  family.layouts = {std::move(rotary)};
  return family;
}

}  // namespace attnscope
