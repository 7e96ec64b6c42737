// T5, mT5 and UMT5: an encoder and a decoder without biases, with learned relative position biases
// and unscaled scores. Source: huggingface/transformers, models/{t5,mt5,umt5}.
#include <string_view>
#include <utility>

#include "attnscope/model/architecture.h"
#include "attnscope/model/families/encoder_decoder.h"

namespace attnscope {
namespace {

using enum Role;

/// The norm before each branch of a layer, counted from 0.
std::string norm_of(const std::string& layer, int branch) {
  return layer + std::to_string(branch) + ".layer_norm";
}

std::vector<WeightRule> attention_weights(const std::string& place) {
  return {{query, place + ".q.weight"},
          {key, place + ".k.weight"},
          {value, place + ".v.weight"},
          {output, place + ".o.weight"}};
}

Architecture common(const std::string& stack, const std::string& layers) {
  return {.stack = stack,
          .keys = {.layers = {"num_layers", 6, layers},
                   .heads = {"num_heads", 8},
                   .head_dim = {"d_kv", 64},
                   .width = {"d_model", 512},
                   .mlp_width = {"d_ff", 2048},
                   .context = {}},
          .norm = NormRule{.kind = NormKind::rms, .epsilon = {"layer_norm_epsilon", 1e-6}},
          .scores = {.scaled = {"", false}},
          .always_tied = true};
}

/// The variant with a gated MLP.
Architecture with_gated_mlp(Architecture stack, const std::string& mlp) {
  stack.weights.insert(stack.weights.end(), {{gate, mlp + ".DenseReluDense.wi_0.weight"},
                                             {up, mlp + ".DenseReluDense.wi_1.weight"},
                                             {down, mlp + ".DenseReluDense.wo.weight"}});
  return stack;
}

Architecture with_plain_mlp(Architecture stack, const std::string& mlp) {
  stack.weights.insert(stack.weights.end(), {{up, mlp + ".DenseReluDense.wi.weight"},
                                             {down, mlp + ".DenseReluDense.wo.weight"}});
  return stack;
}

Architecture on_conditions(Architecture stack, std::vector<ConfigCondition> conditions) {
  stack.conditions = std::move(conditions);
  return stack;
}

/// The MLP types by config.json, and last the default of files that do not specify it. Source:
/// T5Config: `is_gated_act` and `dense_act_fn` override `feed_forward_proj`.
std::vector<Architecture> mlp_forms(const Architecture& stack, const std::string& mlp,
                                    bool gated_by_default) {
  std::vector<Architecture> forms;
  for (const char* key : {"dense_act_fn", "feed_forward_proj"}) {
    Architecture with_gate = with_gated_mlp(stack, mlp), without = with_plain_mlp(stack, mlp);
    with_gate.activation_key = without.activation_key = key;
    const ConfigCondition names_activation{key}, is_gated{"is_gated_act", {"true"}},
        is_plain{"is_gated_act", {"false", "null"}}, said{"feed_forward_proj"},
        declares_gated{"feed_forward_proj", {"\"gated-*\""}};
    forms.push_back(on_conditions(with_gate, {names_activation, is_gated}));
    forms.push_back(on_conditions(without, {names_activation, is_plain}));
    forms.push_back(on_conditions(with_gate, {names_activation, declares_gated}));
    forms.push_back(on_conditions(without, {names_activation, said}));
    forms.push_back(on_conditions(gated_by_default ? with_gate : without, {names_activation}));
    if (std::string_view(key) == "dense_act_fn") continue;
    forms.push_back(on_conditions(with_gate, {is_gated}));
    forms.push_back(on_conditions(without, {is_plain}));
    forms.push_back(on_conditions(gated_by_default ? with_gate : without, {}));
  }
  return forms;
}

/// The differences between T5 and similar families.
struct T5Kind {
  bool table_in_each_layer = false;
  bool gated_by_default = false;  // default of files that do not specify it
  ConfigFlag scaled_logits = {"", false};
};

/// `branches`: the number of branches per layer.
Architecture stack_of_layers(const std::string& stack, const std::string& layers, int branches,
                             const T5Kind& kind) {
  const std::string layer = stack + ".block.{layer}.layer.";
  const std::string attention = layer + "0.SelfAttention";
  const std::string mlp = layer + std::to_string(branches - 1);
  const std::string table =
      kind.table_in_each_layer ? attention : stack + ".block.0.layer.0.SelfAttention";
  Architecture out = common(stack, layers);
  out.weights = attention_weights(attention);
  out.embedding.tokens = "shared.weight";
  out.norm->attention_input = norm_of(layer, 0);
  out.norm->mlp_input = norm_of(layer, branches - 1);
  out.norm->last = stack + ".final_layer_norm";
  out.scores.buckets = BucketRule{.table = table + ".relative_attention_bias.weight",
                                  .count = {"relative_attention_num_buckets", 32},
                                  .distant = {"relative_attention_max_distance", 128}};
  out.causal = {"", stack == "decoder"};
  if (stack == "decoder") out.head.weight = {"lm_head.weight"};
  out.multipliers.logits_by_root = kind.scaled_logits;
  out.others = {{"embedding", stack + ".embed_tokens.weight"}};
  out.activation = kind.gated_by_default ? "gelu_new" : "relu";
  std::vector<Architecture> forms = mlp_forms(out, mlp, kind.gated_by_default);
  out = std::move(forms.back());
  forms.pop_back();
  out.layouts = std::move(forms);
  return out;
}

Architecture cross_attention() {
  const std::string layer = "decoder.block.{layer}.layer.";
  Architecture out = common("cross", "num_decoder_layers");
  out.weights = attention_weights(layer + "1.EncDecAttention");
  out.norm->attention_input = norm_of(layer, 1);
  out.has_mlp = false;
  out.others = {{"unused", layer + "1.EncDecAttention.relative_attention_bias.weight"}};
  return as_cross(std::move(out));
}

Architecture like_t5(const std::string& name, const std::string& family, const T5Kind& kind) {
  return of_stacks(name, family,
                   {as_encoder(stack_of_layers("encoder", "num_layers", 2, kind)),
                    stack_of_layers("decoder", "num_decoder_layers", 3, kind), cross_attention()});
}

}  // namespace

// The first T5 was trained with a tied LM head and scaled its final states. Later ones have their
// own LM head, as tie_word_embeddings in their files shows.
Architecture t5() {
  return like_t5("t5", "T5",
                 {.scaled_logits = {"tie_word_embeddings", true, "scale_decoder_outputs"}});
}
Architecture mt5() { return like_t5("mt5", "MT5", {.gated_by_default = true}); }
Architecture umt5() {
  return like_t5(
      "umt5", "UMT5",
      {.table_in_each_layer = true, .gated_by_default = true, .scaled_logits = {"", true}});
}

}  // namespace attnscope
