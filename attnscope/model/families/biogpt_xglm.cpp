// BioGPT and XGLM: OPT's pre-norm layers with scaled embeddings. XGLM computes its positions.
// Source: huggingface/transformers, models/{biogpt,xglm}.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture opt();

namespace {

Architecture like_opt(const char* name, const char* class_family) {
  Architecture architecture = opt();
  architecture.name = name;
  architecture.model_types = {name};
  architecture.class_families = {class_family};
  for (BiasRule& rule : architecture.biases) rule.needed = {"", true};
  architecture.norm = NormRule{.epsilon = {"", 1e-5},
                               .attention_input = "layers.{layer}.self_attn_layer_norm",
                               .mlp_input = "layers.{layer}.final_layer_norm",
                               .last = "layer_norm"};
  architecture.activation = "gelu";
  return architecture;
}

}  // namespace

Architecture biogpt() {
  Architecture architecture = like_opt("biogpt", "BioGpt");
  architecture.keys.mlp_width = {"intermediate_size"};
  architecture.prefixes = {"biogpt.", ""};
  architecture.embedding = {.tokens = "embed_tokens.weight",
                            .positions = "embed_positions.weight",
                            .position_offset = 2,
                            .times_sqrt_width = {"scale_embedding", true}};
  architecture.activation_key = "hidden_act";
  architecture.head.weight = {"output_projection.weight"};
  return architecture;
}

Architecture xglm() {
  Architecture architecture = like_opt("xglm", "XGLM");
  architecture.keys.layers = {"num_layers", 24};
  architecture.keys.heads = {"attention_heads", 16};
  architecture.keys.width = {"d_model", 1024};
  architecture.keys.mlp_width.fallback = 4096;
  architecture.prefixes = {"model.", ""};
  architecture.embedding = {.tokens = "embed_tokens.weight",
                            .waves = WaveRule{.to_last = true, .endless = true},
                            .position_offset = 2,
                            .times_sqrt_width = {"scale_embedding", true}};
  architecture.buffers = {"*embed_positions.weights"};
  return architecture;
}

}  // namespace attnscope
