// Mixtures of experts in the description of an architecture, as data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/model/architecture.h"

namespace attnscope {

/// How the weights of the chosen experts follow from the router's logits.
enum class RouterScore {
  softmax,            // of all logits
  sigmoid,            // of each logit
  softmax_of_chosen,  // the largest logits are chosen, and the softmax is over them alone
  sigmoid_of_chosen,  // likewise, the sigmoid of each
  /// Two experts: the largest logit, then the largest of the others. The weight of each is its
  /// softmax among the logits x with (m - x) / max(|x|, m) <= 2 jitter, where m is the one chosen;
  /// for the second without the first. Source: PhiMoE, arXiv:2409.12136.
  sparsemixer,
};

/// What a group of experts counts for where only the best groups are chosen from.
enum class GroupScore { best, sum_of_two_best };

/// Which layers have experts: those for which all of this holds. The others have a dense MLP.
struct ExpertLayersRule {
  ConfigKey every = {"", 1};  // layer % this is the next number; none: layer + 1 is a multiple
  ConfigKey offset = {};
  ConfigKey first = {"", 0};  // from this layer on
  ConfigKey last = {};        // to this layer; none or -1: to the end
  std::string dense = {};     // a key that lists layers without experts
  std::string listed = {};    // a key that lists all layers with experts, in place of the above
  std::string types = {};     // likewise a list of "sparse" and "dense" for all layers
  bool by_kind = false;       // those that are experts alone, see MixerRule
};

/// One of the ways in which files hold the matrices of experts.
struct ExpertTensors {
  /// gate, up and down (or the latter two). `{expert}` in a name stands for the expert's number;
  /// without it a tensor has a first axis of experts.
  std::vector<WeightRule> weights;
  /// Stacked tensors may be (outputs, inputs) or the other way round, whichever fits; where both
  /// fit, as the rule says.
  bool either_way = false;
};

/// Norms of a mixture of experts, which then read the stream x itself, while the shared experts
/// read what an MLP would: y = output(Σ weight · expert(input(x))) + shared_output(shared(…)).
/// Patterns under the prefix, named as in NormRule.
struct ExpertNorms {
  std::string input, output, shared_output;
  /// The router reads rms(x) times this (D,), divided by √D.
  std::string router_gain;
};

/// For each token: scores of its logits; of scores + bias, the best groups, and of these the best
/// experts; their weights by the scores alone; y = Σ weight · expert(x) + shared(x).
struct MoeRule {
  /// E, by the first of these keys that the file has. 0: no layer has experts.
  std::vector<std::string> experts;
  std::optional<std::int64_t> default_experts = {};
  std::int64_t dense_up_to = 0;     // so few experts are a dense MLP (Jamba: 1)
  std::vector<std::string> chosen;  // k, likewise
  std::optional<std::int64_t> default_chosen = {};
  ConfigKey width;        // F of one expert
  ConfigKey inputs = {};  // what experts read and give, where it is not the stream's D
  ExpertLayersRule layers = {};
  std::vector<ExpertTensors> tensors;  // the first whose names the files hold

  RouterScore score = RouterScore::softmax;
  ConfigNumber jitter = {};                   // of sparsemixer
  std::vector<std::string> choice_bias = {};  // (E,), pattern; the first that a file holds, which
                                              // must hold one. Empty: there is none
  ConfigCondition grouped = {};               // groups count only where this holds; no key: always
  ConfigKey groups = {"", 1};                 // equal runs of experts
  ConfigKey kept_groups = {"", 1};            // that are chosen from
  GroupScore group_score = GroupScore::best;
  ConfigFlag normalise = {"", false};  // weights / max(their sum + epsilon, least)
  double normalise_epsilon = 0;
  ConfigNumber normalise_least = {"", 0};
  ConfigNumber times = {"", 1};  // factor of all weights
  bool weighs_input = false;     // expert(weight · x) instead of weight · expert(x)
  /// Of gated experts, instead of the activation: with g = min(gate, clamp) and u = up clipped to
  /// ±clamp, (u + 1) g σ(alpha g). No clamp: not so.
  ConfigNumber clamp = {};
  ConfigNumber alpha = {"", 1};

  ConfigKey shared_width = {};      // F of the shared experts together
  ConfigKey shared_count = {};      // or how many there are, each as wide as an expert
  std::string shared_weight = {};   // (1, D), pattern: the shared experts' output · σ(of this)
  std::string expert_factors = {};  // (E,), pattern: factor of each expert's weight, at last
  std::optional<ExpertNorms> norms = {};
};

}  // namespace attnscope
