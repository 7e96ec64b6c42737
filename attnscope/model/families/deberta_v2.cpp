// DeBERTa: BERT's layers with scores that also compare tokens with relative distances.
// Source: huggingface/transformers, models/{deberta,deberta_v2}.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture bert();

Architecture deberta_v2() {
  using enum Role;
  Architecture architecture = bert();
  architecture.name = "deberta-v2";
  architecture.model_types = {"deberta-v2"};
  architecture.class_families = {"DebertaV2"};
  architecture.keys.head_dim = {"attention_head_size"};
  architecture.keys.context.fallback = 512;
  architecture.prefixes = {"deberta.", ""};
  const std::string attention = "encoder.layer.{layer}.attention.self.";
  for (WeightRule& rule : architecture.weights) {
    if (rule.role == query) rule.tensor = attention + "query_proj.weight";
    if (rule.role == key) rule.tensor = attention + "key_proj.weight";
    if (rule.role == value) rule.tensor = attention + "value_proj.weight";
  }
  EmbeddingRule& embedding = architecture.embedding;
  embedding.has_positions = {"position_biased_input", true};
  embedding.type_count = {"type_vocab_size", 0};
  embedding.projection = "embeddings.embed_proj.weight";
  embedding.projects_if_narrow = true;
  embedding.norms_projected = true;
  embedding.width = {"embedding_size"};
  architecture.norm->epsilon.fallback = 1e-7;
  architecture.scores.disentangled = DisentangledRule{.enabled = {"relative_attention"},
                                                      .kinds_key = "pos_att_type",
                                                      .table = "encoder.rel_embeddings.weight",
                                                      .norm = "encoder.LayerNorm",
                                                      .norm_key = "norm_rel_ebd",
                                                      .buckets = {"position_buckets"},
                                                      .distant = {"max_relative_positions"},
                                                      .shared = {"share_att_key"},
                                                      .query = attention + "pos_query_proj.weight",
                                                      .key = attention + "pos_key_proj.weight"};
  architecture.convolution = ConvolutionRule{.kernel = {"conv_kernel_size", 0},
                                             .groups = {"conv_groups", 1},
                                             .tensor = "encoder.conv.conv.weight",
                                             .norm = "encoder.conv.LayerNorm",
                                             .activation_key = "conv_act",
                                             .activation = "tanh"};
  architecture.head = {.weight = {"cls.predictions.decoder.weight"},
                       .bias = {"cls.predictions.decoder.bias", "cls.predictions.bias",
                                "lm_predictions.lm_head.bias"},
                       .needs_bias = true,
                       .dense = "cls.predictions.transform.dense.weight",
                       .norm = "cls.predictions.transform.LayerNorm",
                       // The head of v3, regardless of `legacy` in its config.
                       .other_dense = "lm_predictions.lm_head.dense.weight",
                       .other_norm = "lm_predictions.lm_head.LayerNorm"};
  architecture.label_heads.front() = {.task = LabelTask::sequence,
                                      .weight = "classifier.weight",
                                      .dense = "pooler.dense.weight",
                                      .activation = "gelu",
                                      .activation_key = "pooler_hidden_act"};
  architecture.head_marker = "*predictions.*";
  architecture.causal = {"", false};
  return architecture;
}

/// DeBERTa 1: Q, K and V are interleaved per head, with biases of Q and V. Every distance has its
/// own embedding, without a norm. Source: transformers, modeling_deberta.py.
Architecture deberta() {
  using enum Role;
  Architecture architecture = deberta_v2();
  architecture.name = "deberta";
  architecture.model_types = {"deberta"};
  architecture.class_families = {"Deberta"};
  architecture.keys.head_dim = {};
  const std::string attention = "encoder.layer.{layer}.attention.self.";
  for (WeightRule& rule : architecture.weights) {
    if (rule.role != query && rule.role != key && rule.role != value) continue;
    rule.tensor = attention + "in_proj.weight";
    rule.fused = {query, key, value};
    rule.groups = kPerKvHead;
    if (rule.role == key) continue;
    rule.bias = attention + (rule.role == query ? "q_bias" : "v_bias");
    rule.own_bias = true;
  }
  architecture.biases = {{{query, value, output, up, down}}};
  architecture.convolution.reset();
  DisentangledRule& rule = *architecture.scores.disentangled;
  rule.norm.clear();
  rule.buckets = {};
  rule.shared = {"", false};
  rule.query = attention + "pos_q_proj.weight";
  rule.key = attention + "pos_proj.weight";
  architecture.layouts = {
      not_run_if(architecture, {"talking_head", {"true"}},
                 "'talking_head' is true: heads are mixed, which is not supported")};
  return architecture;
}

}  // namespace attnscope
