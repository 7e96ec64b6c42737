// Moonshine: an encoder over waveforms and a gated decoder, both with partial RoPE. Source:
// huggingface/transformers, models/moonshine/modeling_moonshine.py.
#include "attnscope/model/families/bart_marian_pegasus_m2m100.h"
#include "attnscope/model/families/encoder_decoder.h"

namespace attnscope {
namespace {

using enum Role;

std::vector<WeightRule> moonshine_attention(const std::string& place) {
  std::vector<WeightRule> weights = bart_attention(place);
  weights.back().tensor = place + ".o_proj.weight";
  return weights;
}

/// `pad_head_dim_to_multiple_of` pads with zeros, which changes no score and no output.
Architecture moonshine_stack(const std::string& stack) {
  const std::string layer = stack + ".layers.{layer}.";
  Architecture out{.stack = stack,
                   .keys = {.layers = {stack + "_num_hidden_layers", 6},
                            .heads = {stack + "_num_attention_heads", 8},
                            .kv_heads = {stack + "_num_key_value_heads"},
                            .head_dim = {"head_dim"},
                            .width = {"hidden_size", 288},
                            .mlp_width = {"intermediate_size", 1152},
                            .vocabulary = {"vocab_size", 32768},
                            .context = {"max_position_embeddings", 512}},
                   .prefixes = {"model.", ""},
                   .weights = moonshine_attention(layer + "self_attn"),
                   .biases = {{{query, key, value}, {"attention_bias", false}}, {{up, down}}},
                   .norm = NormRule{.epsilon = {"", 1e-5},
                                    .biased = {"", false},
                                    .attention_input = layer + "input_layernorm",
                                    .mlp_input = layer + "post_attention_layernorm",
                                    .last = stack + ".layer_norm"},
                   .rope = RopeRule{.fraction_key = "partial_rotary_factor",
                                    .fraction = 0.9,
                                    .neighbors = {"", true}},
                   .activation_key = stack + "_hidden_act",
                   .activation = "gelu",
                   .causal = {"", stack == "decoder"}};
  const std::vector<WeightRule> mlp = {{up, layer + "mlp.fc1.weight"},
                                       {down, layer + "mlp.fc2.weight"}};
  out.weights.insert(out.weights.end(), mlp.begin(), mlp.end());
  return out;
}

}  // namespace

Architecture moonshine() {
  Architecture encoder = as_encoder(moonshine_stack("encoder"));
  encoder.keys.vocabulary = {};
  encoder.keys.context = {};
  encoder.audio = AudioRule{.kernels = {"", {127, 7, 3}},
                            .strides = {"", {64, 3, 2}},
                            .width_factors = {1, 2, 1},
                            .place = "encoder.conv{number}",
                            .first_number = 1,
                            .norm_of_first = "encoder.groupnorm",
                            .first_activation = "tanh"};
  encoder.others = {{"convolution", "encoder.conv*"}};

  const std::string layer = "decoder.layers.{layer}.";
  Architecture decoder = moonshine_stack("decoder");
  Architecture cross = decoder;
  // The gate is the second half of the first layer's outputs.
  const std::string fused = layer + "mlp.fc1.weight";
  std::erase_if(decoder.weights, [](const WeightRule& rule) { return rule.role == up; });
  for (const Role role : {up, gate}) {
    decoder.weights.push_back({.role = role, .tensor = fused, .fused = {up, gate}});
  }
  decoder.biases.back().roles.push_back(gate);
  decoder.activation = "silu";
  decoder.embedding.tokens = "decoder.embed_tokens.weight";
  decoder.norm->mlp_input = layer + "final_layernorm";
  decoder.norm->last = "decoder.norm";
  decoder.head = {.weight = {"proj_out.weight"}};

  cross.weights = moonshine_attention(layer + "encoder_attn");
  cross.biases.pop_back();
  cross.rope.reset();
  cross.norm = NormRule{.epsilon = {"", 1e-5},
                        .biased = {"", false},
                        .attention_input = layer + "post_attention_layernorm"};
  cross.has_mlp = false;
  return of_stacks("moonshine", "Moonshine", {encoder, decoder, as_cross(std::move(cross))});
}

}  // namespace attnscope
