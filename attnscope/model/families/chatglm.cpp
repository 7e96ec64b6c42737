// ChatGLM 2 and 3, and GLM-4-9B in the authors' format: GLM with fused projections. Source: THUDM,
// modeling_chatglm.py.
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture chatglm() {
  using enum Role;
  using enum Storage;
  const std::string layer = "encoder.layers.{layer}.";
  const std::string fused = layer + "self_attention.query_key_value.weight";
  const std::string both = layer + "mlp.dense_h_to_4h.weight";
  const std::vector<Role> qkv = {query, key, value};
  Architecture architecture = like_llama("chatglm", "ChatGLM");
  architecture.keys = {.layers = {"num_layers"},
                       .heads = {"num_attention_heads"},
                       .kv_heads = {"multi_query_group_num", 1},
                       .head_dim = {"kv_channels"},
                       .width = {"hidden_size"},
                       .mlp_width = {"ffn_hidden_size"},
                       .vocabulary = {"padded_vocab_size"},
                       .context = {"seq_length"}};
  architecture.prefixes = {"transformer.", ""};
  architecture.weights = {{query, fused, out_by_in, qkv},
                          {key, fused, out_by_in, qkv},
                          {value, fused, out_by_in, qkv},
                          {output, layer + "self_attention.dense.weight"},
                          {gate, both, out_by_in, {gate, up}},
                          {up, both, out_by_in, {gate, up}},
                          {down, layer + "mlp.dense_4h_to_h.weight"}};
  architecture.biases = {{{query, key, value}, {"add_qkv_bias"}},
                         {{output, gate, up, down}, {"add_bias_linear"}}};
  architecture.embedding.tokens = "embedding.word_embeddings.weight";
  architecture.norm = NormRule{.kind = NormKind::rms,
                               .epsilon = {"layernorm_epsilon", 1e-5},
                               .attention_input = layer + "input_layernorm",
                               .mlp_input = layer + "post_attention_layernorm",
                               .last = "encoder.final_layernorm",
                               .replaces_stream = {"apply_residual_connection_post_layernorm"}};
  architecture.rope = RopeRule{
      .theta_key = "", .theta_times = {"rope_ratio", 1}, .fraction = 0.5, .neighbors = {"", true}};
  architecture.activation_key.clear();
  architecture.head.weight = {"transformer.output_layer.weight", "output_layer.weight"};
  architecture.buffers = {"*.rotary_pos_emb.inv_freq"};
  architecture.layouts = {
      // ChatGLM2-6B-32K divides positions by rope_ratio; later models multiply the base by it.
      not_run_if(architecture, {"rope_ratio", {"16", "16.0"}},
                 "'rope_ratio' is 16: models of the same format interpret it differently"),
      not_run_if(architecture, {"multi_query_attention", {"false"}},
                 "'multi_query_attention' is false, which is not supported"),
      not_run_if(architecture, {"rmsnorm", {"false"}},
                 "'rmsnorm' is false, which is not supported"),
      not_run_if(architecture, {"post_layer_norm", {"false"}},
                 "'post_layer_norm' is false, which is not supported"),
      not_run_if(architecture, {"position_encoding_2d"},
                 "ChatGLM 1 has two-dimensional positions, which is not supported")};
  return architecture;
}

}  // namespace attnscope
