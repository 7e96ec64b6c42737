// ModernBERT: an encoder of pre-norm layers without biases, with gated MLPs. Most layers have a
// sliding window, and windowed layers have another RoPE base. Source: huggingface/transformers,
// models/modernbert/modeling_modernbert.py.
#include "attnscope/model/architecture.h"

namespace attnscope {

Architecture modernbert() {
  using enum Role;
  using enum Storage;
  const std::string fused = "layers.{layer}.attn.Wqkv.weight";
  const std::string wi = "layers.{layer}.mlp.Wi.weight";
  const std::vector<Role> qkv = {query, key, value};
  const auto labels = [](LabelTask task) {
    return LabelHeadRule{.task = task,
                         .weight = "classifier.weight",
                         .pooling_key = task == LabelTask::sequence ? "classifier_pooling" : "",
                         .dense = "head.dense.weight",
                         .norm = "head.norm",
                         .activation = "gelu",
                         .activation_key = "classifier_activation"};
  };
  return {
      .name = "modernbert",
      .model_types = {"modernbert"},
      .class_families = {"ModernBert"},
      .keys = {.layers = {"num_hidden_layers", 22},
               .heads = {"num_attention_heads", 12},
               .width = {"hidden_size", 768},
               .mlp_width = {"intermediate_size", 1152},
               .context = {"max_position_embeddings", 8192}},
      .prefixes = {"model.", ""},
      .weights =
          {
              {query, fused, out_by_in, qkv},
              {key, fused, out_by_in, qkv},
              {value, fused, out_by_in, qkv},
              {output, "layers.{layer}.attn.Wo.weight"},
              {gate, wi, out_by_in, {gate, up}},
              {up, wi, out_by_in, {gate, up}},
              {down, "layers.{layer}.mlp.Wo.weight"},
          },
      .biases = {{{query, key, value, output}, {"attention_bias"}},
                 {{gate, up, down}, {"mlp_bias"}}},
      .embedding = {.tokens = "embeddings.tok_embeddings.weight", .norm = "embeddings.norm"},
      .norm = NormRule{.epsilon = {"norm_eps", 1e-5},
                       .biased = {"norm_bias"},
                       .attention_input = "layers.{layer}.attn_norm",
                       .mlp_input = "layers.{layer}.mlp_norm",
                       .last = "final_norm",
                       .not_in_first_layer = true},
      .window = WindowRule{.size = {"local_attention", 128},
                           .layers = WindowedLayers::but_first_of,
                           .number = {"global_attn_every_n_layers", 3},
                           .reads_layer_types = true},
      .rope = RopeRule{.theta_key = "global_rope_theta",
                       .theta = 160000,
                       .scaling_is_of_all = true,
                       .local_theta_key = "local_rope_theta"},
      .activation_key = "hidden_activation",
      .activation = "gelu",
      .head = {.weight = {"decoder.weight"},
               .bias = {"decoder.bias"},
               .dense = "head.dense.weight",
               .norm = "head.norm",
               .activation_key = "classifier_activation",
               .activation = "gelu"},
      .label_heads = {labels(LabelTask::sequence), labels(LabelTask::token),
                      labels(LabelTask::span)},
      .head_marker = "decoder.*",
      .causal = {"", false},
      .buffers = {"*.rotary_emb.inv_freq"},
  };
}

}  // namespace attnscope
