// GTE and Jina Embeddings v3: BERT's post-norm layers with RoPE instead of learned positions. GTE
// has gated MLPs. Source: huggingface/transformers, models/{gte,jina_embeddings_v3}; tensor names:
// conversion_mapping.py.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture roberta();

namespace {

/// RoBERTa with RoPE, and the query, key and value projections in the tensor `fused`.
Architecture rotary_roberta(const char* name, const char* class_family, const std::string& fused) {
  using enum Role;
  Architecture architecture = roberta();
  architecture.name = name;
  architecture.model_types = {name};
  architecture.class_families = {class_family};
  architecture.embedding.positions.clear();
  architecture.embedding.positions_after_padding = false;
  architecture.causal = {"", false};
  architecture.weights.clear();
  for (const Role part : {query, key, value}) {
    architecture.weights.push_back({.role = part, .tensor = fused, .fused = {query, key, value}});
  }
  architecture.buffers.push_back("*.inv_freq");
  return architecture;
}

}  // namespace

Architecture gte() {
  using enum Role;
  const std::string layer = "encoder.layer.{layer}.";
  const std::string both = layer + "mlp.up_gate_proj.weight";
  Architecture architecture = rotary_roberta("gte", "Gte", layer + "attention.qkv_proj.weight");
  architecture.model_types = {"gte", "new"};  // the name of the authors' code is "new"
  architecture.class_families = {"Gte", "New"};
  architecture.prefixes = {"gte.", "new.", ""};
  architecture.weights.push_back({output, layer + "attention.o_proj.weight"});
  for (const Role part : {gate, up}) {
    architecture.weights.push_back({.role = part, .tensor = both, .fused = {up, gate}});
  }
  architecture.weights.push_back({down, layer + "mlp.down_proj.weight"});
  architecture.biases = {{{query, key, value, output, down}}};
  architecture.embedding.type_count = {"type_vocab_size", 1};
  architecture.norm->attention_sum = layer + "attn_ln";
  architecture.norm->mlp_sum = layer + "mlp_ln";
  architecture.rope = RopeRule{.theta = 160000};
  architecture.head.bias = {"lm_head.decoder.bias"};
  architecture.head.norm = "lm_head.norm";
  architecture.label_heads = {{.task = LabelTask::sequence,
                               .weight = "classifier.weight",
                               .dense = "pooler.dense.weight",
                               .dense_under_prefix = true,
                               .activation = "tanh"},
                              {.task = LabelTask::token, .weight = "classifier.weight"}};
  architecture.repeated.clear();
  // Settings of the authors' code that published files do not use.
  Architecture rotary = architecture;
  rotary.conditions = {{"position_embedding_type", {"\"rope\""}}};
  architecture.layouts = {
      not_run_if(architecture, {"position_embedding_type", {"\"absolute\""}},
                 "'position_embedding_type' is \"absolute\", which is not supported"),
      not_run_if(rotary, {"layer_norm_type", {"\"rms_norm\""}},
                 "'layer_norm_type' is \"rms_norm\", which is not supported"),
      not_run_if(rotary, {"logn_attention_scale", {"true"}},
                 "'logn_attention_scale' is true, which is not supported"),
      std::move(rotary)};
  return architecture;
}

Architecture jina_embeddings_v3() {
  using enum Role;
  const std::string layer = "encoder.layers.{layer}.";
  Architecture architecture =
      rotary_roberta("jina_embeddings_v3", "JinaEmbeddingsV3", layer + "mixer.Wqkv.weight");
  architecture.weights.push_back({output, layer + "mixer.out_proj.weight"});
  architecture.weights.push_back({up, layer + "mlp.fc1.weight"});
  architecture.weights.push_back({down, layer + "mlp.fc2.weight"});
  architecture.embedding.norm = "emb_ln";
  architecture.norm->epsilon.fallback = 1e-5;
  architecture.norm->attention_sum = layer + "norm1";
  architecture.norm->mlp_sum = layer + "norm2";
  architecture.rope = RopeRule{.theta = 20000};
  return architecture;
}

}  // namespace attnscope
