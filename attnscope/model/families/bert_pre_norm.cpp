// Encoders with BERT's tensors whose layers normalize the inputs of attention and MLP:
// Megatron-BERT, RoBERTa-PreLayerNorm and XLM-RoBERTa-XL. Source: huggingface/transformers,
// models/{megatron_bert,roberta_prelayernorm,xlm_roberta_xl}.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture bert();
Architecture roberta();

namespace {

Architecture pre_norm(Architecture architecture, const char* name, const char* class_family,
                      NormRule norm) {
  architecture.name = name;
  architecture.model_types = {name};
  architecture.class_families = {class_family};
  norm.epsilon = architecture.norm->epsilon;
  architecture.norm = std::move(norm);
  return architecture;
}

}  // namespace

Architecture megatron_bert() {
  Architecture architecture =
      pre_norm(bert(), "megatron-bert", "MegatronBert",
               NormRule{.attention_input = "encoder.layer.{layer}.attention.ln",
                        .mlp_input = "encoder.layer.{layer}.ln",
                        .last = "encoder.ln"});
  architecture.embedding.norm.clear();
  return architecture;
}

Architecture roberta_prelayernorm() {
  Architecture architecture =
      pre_norm(roberta(), "roberta-prelayernorm", "RobertaPreLayerNorm",
               NormRule{.attention_input = "encoder.layer.{layer}.attention.LayerNorm",
                        .mlp_input = "encoder.layer.{layer}.intermediate.LayerNorm",
                        .last = "LayerNorm"});
  architecture.prefixes = {"roberta_prelayernorm.", ""};
  return architecture;
}

Architecture xlm_roberta_xl() {
  Architecture architecture =
      pre_norm(roberta(), "xlm-roberta-xl", "XLMRobertaXL",
               NormRule{.attention_input = "encoder.layer.{layer}.attention.self_attn_layer_norm",
                        .mlp_input = "encoder.layer.{layer}.LayerNorm",
                        .last = "encoder.LayerNorm"});
  architecture.norm->epsilon.fallback = 1e-5;
  architecture.embedding.norm.clear();
  return architecture;
}

}  // namespace attnscope
