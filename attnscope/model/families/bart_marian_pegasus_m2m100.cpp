// BART and similar models: an encoder and a decoder with biases and learned or sinusoidal
// positions. mBART, Pegasus and M2M-100 are pre-norm; BART and Marian are post-norm. Source:
// huggingface/transformers, models/{bart,mbart,marian,pegasus,m2m_100}.
#include "attnscope/model/families/bart_marian_pegasus_m2m100.h"

#include "attnscope/model/families/encoder_decoder.h"

namespace attnscope {

using enum Role;

std::vector<WeightRule> bart_attention(const std::string& place) {
  return {{query, place + ".q_proj.weight"},
          {key, place + ".k_proj.weight"},
          {value, place + ".v_proj.weight"},
          {output, place + ".out_proj.weight"}};
}

Architecture bart_stack(const std::string& stack, const BartSizes& sizes, const BartNorms& norms) {
  const std::string layer = stack + ".layers.{layer}.";
  Architecture out{.stack = stack,
                   .keys = {.layers = {stack + "_layers", sizes.layers},
                            .heads = {stack + "_attention_heads", sizes.heads},
                            .width = {"d_model", 1024},
                            .mlp_width = {stack + "_ffn_dim", sizes.mlp_width},
                            .context = {"max_position_embeddings", 1024}},
                   .prefixes = {"model.", ""},
                   .weights = bart_attention(layer + "self_attn"),
                   .biases = {{{query, key, value, output, up, down}}},
                   .embedding = {.tokens = "shared.weight",
                                 .positions = stack + ".embed_positions.weight",
                                 .waves = norms.waves,
                                 .position_offset = norms.position_offset,
                                 .times_sqrt_width = {"scale_embedding", norms.scaled_by_default}},
                   .norm = NormRule{.epsilon = {"", 1e-5}},
                   .activation_key = "activation_function",
                   .activation = norms.activation,
                   .others = {{"embedding", stack + ".embed_tokens.weight"}},
                   .causal = {"", stack == "decoder"}};
  out.weights.insert(out.weights.end(), {{up, layer + "fc1.weight"}, {down, layer + "fc2.weight"}});
  if (norms.of_embedding) out.embedding.norm = stack + ".layernorm_embedding";
  NormRule& norm = *out.norm;
  (norms.of_inputs ? norm.attention_input : norm.attention_sum) = layer + "self_attn_layer_norm";
  (norms.of_inputs ? norm.mlp_input : norm.mlp_sum) = layer + "final_layer_norm";
  if (norms.of_inputs) norm.last = stack + ".layer_norm";
  return stack == "encoder" ? as_encoder(std::move(out)) : out;
}

Architecture bart_cross(const BartSizes& sizes, const BartNorms& norms) {
  const std::string layer = "decoder.layers.{layer}.encoder_attn";
  Architecture out = bart_stack("decoder", sizes, norms);
  out.weights = bart_attention(layer);
  out.biases = {{{query, key, value, output}}};
  out.embedding = {};
  out.norm = NormRule{.epsilon = {"", 1e-5}};
  (norms.of_inputs ? out.norm->attention_input : out.norm->attention_sum) = layer + "_layer_norm";
  out.has_mlp = false;
  out.others.clear();
  return as_cross(std::move(out));
}

namespace {

Architecture like_bart(const std::string& name, const std::string& family, const BartSizes& sizes,
                       const BartNorms& norms) {
  Architecture whole = of_stacks(name, family,
                                 {bart_stack("encoder", sizes, norms),
                                  bart_stack("decoder", sizes, norms), bart_cross(sizes, norms)});
  Architecture& decoder = whole.stacks[1];
  decoder.head = {.weight = {"lm_head.weight"}, .bias = {"final_logits_bias"}};
  decoder.others.push_back({"lm_head.bias", "final_logits_bias"});
  decoder.buffers = {"final_logits_bias"};
  return whole;
}

constexpr BartSizes kLarge = {.layers = 12, .heads = 16, .mlp_width = 4096};

}  // namespace

Architecture bart() {
  return like_bart("bart", "Bart", kLarge, {.of_embedding = true, .position_offset = 2});
}

Architecture mbart() {
  return like_bart("mbart", "MBart", kLarge,
                   {.of_inputs = true, .of_embedding = true, .position_offset = 2});
}

Architecture marian() {
  Architecture whole = like_bart("marian", "Marian", kLarge, {.waves = WaveRule{}});
  // Some models have one vocabulary per language.
  for (Architecture& stack : whole.stacks) {
    if (stack.stack == "cross") continue;
    Architecture apart = stack;
    apart.embedding.tokens = stack.stack + ".embed_tokens.weight";
    if (stack.stack == "decoder") apart.keys.vocabulary.other_name = "decoder_vocab_size";
    apart.conditions = {{"share_encoder_decoder_embeddings", {"false"}}};
    stack.layouts = {std::move(apart)};
  }
  return whole;
}

Architecture pegasus() {
  return like_bart("pegasus", "Pegasus", kLarge, {.of_inputs = true, .waves = WaveRule{}});
}

Architecture m2m_100() {
  Architecture whole = like_bart("m2m_100", "M2M100", kLarge,
                                 {.of_inputs = true,
                                  .scaled_by_default = true,
                                  .waves = WaveRule{.to_last = true, .endless = true},
                                  .activation = "relu"});
  for (Architecture& stack : whole.stacks) {
    stack.embedding.positions.clear();
    stack.embedding.positions_after_padding = true;
    stack.padding_token = {"pad_token_id", 1};
    stack.buffers.push_back("*.embed_positions.weights");
  }
  return whole;
}

}  // namespace attnscope
