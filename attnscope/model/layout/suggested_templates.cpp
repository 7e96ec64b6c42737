#include "attnscope/model/layout/suggested_templates.h"

#include <algorithm>
#include <array>
#include <utility>

#include "attnscope/model/known_architectures.h"
#include "attnscope/model/tensor_names.h"

namespace attnscope {
namespace {

/// Returns the part before the pattern in the name of a tensor of layer 0; none if no name ends
/// with the pattern.
std::optional<std::string> prefix_of(const Checkpoint& checkpoint, const std::string& pattern) {
  const std::string ending = fill_pattern(pattern, {});
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    if (!tensor.name.ends_with(ending)) continue;
    std::string prefix = tensor.name.substr(0, tensor.name.size() - ending.size());
    if (prefix.empty() || prefix.ends_with('.')) return prefix;
  }
  return std::nullopt;
}

/// Tensors of layer 0 under the prefix.
class FirstLayer {
 public:
  FirstLayer(const Checkpoint& checkpoint, std::string prefix)
      : checkpoint_(checkpoint), prefix_(std::move(prefix)) {}

  const CheckpointTensor* find(const std::string& pattern) const {
    return checkpoint_.find(prefix_ + fill_pattern(pattern, {}));
  }
  bool has(const std::string& pattern) const { return find(pattern) != nullptr; }

 private:
  const Checkpoint& checkpoint_;
  std::string prefix_;
};

Architecture family_named(const char* name) {
  Architecture family = *find_architecture_by_type(name);
  family.model_types.clear();
  family.class_families.clear();
  return family;
}

/// The first name of the LM head that is in the files.
void choose_head(Architecture& architecture, const Checkpoint& checkpoint) {
  HeadRule& head = architecture.head;
  const auto keep_existing = [&](std::vector<std::string>& names) {
    const auto held = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
      return checkpoint.find(name) != nullptr;
    });
    if (held != names.end()) names = {*held};
    return held != names.end() || names.size() == 1;
  };
  if (!keep_existing(head.weight)) head.weight.resize(std::min<std::size_t>(head.weight.size(), 1));
  keep_existing(head.bias);
  if (!head.dense.empty() && checkpoint.find(head.dense) == nullptr) head = {};
}

const std::vector<std::string> kActivation = {"hidden_act", "hidden_activation",
                                              "activation_function"};

/// Numbers that have the same names in Llama and similar models.
void read_similar_keys(Architecture& llama) {
  llama.biases.clear();
  llama.scores = {.scale = {"attention_multiplier"},
                  .scale_dimension = {"query_pre_attn_scalar"},
                  .soft_cap = {"attn_logit_softcapping"}};
  llama.multipliers = {.embedding = {"embedding_multiplier"},
                       .branches = {"residual_multiplier"},
                       .logits = {"logit_scale"},
                       .logits_divisor = {"logits_scaling"}};
  llama.head.soft_cap = {"final_logit_softcapping"};
  llama.parallel = {"use_parallel_residual", false};
  llama.window = WindowRule{.size = {"sliding_window"},
                            .enabled = {"use_sliding_window", true},
                            .layers = WindowedLayers::from_layer,
                            .number = {"max_window_layers", 0},
                            .reads_layer_types = true};
}

/// Norms of queries and keys, depending on the shape of their gains.
void set_head_norms(OfferTemplate& fitting, const FirstLayer& layer, std::int64_t heads_width) {
  NormRule& norm = *fitting.architecture.norm;
  const std::string query = "layers.{layer}.self_attn.q_norm";
  const CheckpointTensor* gain = layer.find(query + ".weight");
  if (gain == nullptr) return;
  norm.query = query;
  norm.key = "layers.{layer}.self_attn.k_norm";
  const Shape& shape = gain->view.shape;
  if (shape.size() == 2) norm.head_axis = HeadNormAxis::each_head;
  if (shape == Shape{heads_width}) norm.head_axis = HeadNormAxis::all_heads;
  norm.heads_biased = norm.kind == NormKind::rms || layer.has(query + ".bias");
}

OfferTemplate like_llamas(const Checkpoint& checkpoint, const std::string& prefix) {
  OfferTemplate fitting{.like = "Llama", .architecture = family_named("llama")};
  Architecture& architecture = fitting.architecture;
  const FirstLayer layer(checkpoint, prefix);
  read_similar_keys(architecture);
  std::erase_if(architecture.weights,
                [&](const WeightRule& rule) { return !layer.has(rule.tensor); });
  NormRule& norm = *architecture.norm;
  const bool biased = layer.has(norm.attention_input + ".bias");
  if (biased) norm.kind = NormKind::layer;
  norm.epsilon = {biased ? "layer_norm_eps" : "rms_norm_eps"};
  if (biased) {
    fitting.needed.push_back(
        {"layer_norm_eps", "norm_eps", "layer_norm_epsilon", "norm_epsilon", "layernorm_epsilon"});
    architecture.rope->fraction_key = "partial_rotary_factor";
    // StableLM rotates a quarter of each head by default.
    fitting.needed.push_back({"partial_rotary_factor", "rope_pct", "rotary_pct"});
  } else {
    fitting.needed.push_back({"rms_norm_eps"});  // another name does not determine the type of norm
  }
  fitting.needed.push_back(kActivation);
  fitting.needed.push_back({"rope_theta", "rotary_emb_base"});
  if (!layer.has(norm.mlp_input + ".weight")) {
    norm.mlp_input.clear();
    fitting.doubts.push_back("the MLP has no input norm");
  }
  const CheckpointTensor* query = layer.find(architecture.weights.front().tensor);
  set_head_norms(fitting, layer, query->view.shape.front());
  choose_head(architecture, checkpoint);
  return fitting;
}

OfferTemplate like_berts(const Checkpoint& checkpoint) {
  const bool is_roberta = checkpoint.find("lm_head.dense.weight") != nullptr;
  const bool is_bert = checkpoint.find("cls.predictions.transform.dense.weight") != nullptr;
  OfferTemplate fitting{.like = is_roberta ? "RoBERTa" : "BERT",
                        .architecture = family_named(is_roberta ? "roberta" : "bert"),
                        .needed = {{"layer_norm_eps", "layer_norm_epsilon"}, kActivation}};
  if (is_roberta) fitting.needed.push_back({"pad_token_id"});
  if (!is_roberta && !is_bert) {
    fitting.doubts.push_back(
        "the files contain no LM head, which distinguishes BERT from RoBERTa, and both number "
        "positions differently");
  }
  choose_head(fitting.architecture, checkpoint);
  return fitting;
}

OfferTemplate like_neox(const Checkpoint& checkpoint) {
  OfferTemplate fitting{.like = "GPT-NeoX",
                        .architecture = family_named("gpt_neox"),
                        .needed = {{"layer_norm_eps", "layer_norm_epsilon", "norm_eps"},
                                   kActivation,
                                   {"rotary_pct", "partial_rotary_factor", "rope_pct"},
                                   {"rotary_emb_base", "rope_theta"},
                                   {"use_parallel_residual"}}};
  choose_head(fitting.architecture, checkpoint);
  return fitting;
}

}  // namespace

std::optional<OfferTemplate> fitting_template(const Checkpoint& checkpoint) {
  std::optional<OfferTemplate> fitting;
  const auto prefix = [&](const char* family) {
    return prefix_of(checkpoint, find_architecture_by_type(family)->weights.front().tensor);
  };
  std::optional<std::string> found = prefix("llama");
  if (found) {
    fitting = like_llamas(checkpoint, *found);
  } else if ((found = prefix("bert"))) {
    fitting = like_berts(checkpoint);
  } else if ((found = prefix("gpt_neox"))) {
    fitting = like_neox(checkpoint);
  }
  if (fitting) fitting->architecture.prefixes = {*found};
  return fitting;
}

}  // namespace attnscope
