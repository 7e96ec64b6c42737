// What an architecture can say of its mixtures of experts, and of layers without attention. The
// file of a family in families/ fills it in; nothing here is of one model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/model/architecture.h"
#include "attnscope/model/config_keys.h"

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
  ConfigKey kept_mlp_groups = {"", 1};        // that are chosen from
  GroupScore group_score = GroupScore::best;
  ConfigFlag normalize = {"", false};  // weights / max(their sum + epsilon, least)
  double normalize_epsilon = 0;
  ConfigNumber normalize_least = {"", 0};
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

// Layers that mix tokens by other means than attention: Mamba, DeltaNet, convolutions.

/// What a layer has after its attention, or after what stands in its place.
enum class AfterMixer {
  usual,    // what the architecture says of all layers
  nothing,  // each layer is one block alone (Nemotron-H)
  mlp,      // the layer is an MLP alone
  experts,  // the layer is experts alone
};

/// A kind of layer, by the name that config.json gives it.
struct LayerKind {
  std::string name;
  bool attends = false;
  std::string mixer = {};  // what stands in place of attention, or beside it; empty: nothing
  AfterMixer after = AfterMixer::usual;
};

/// Gated DeltaNet: queries, keys and values pass a causal convolution along the text, and each
/// value head keeps a matrix S (d_k, d_v). With unit keys k, decay a and step b of a token:
/// S = a S, S += k ⊗ b (v − Sᵀ k), and Sᵀ q is what the head gives, normed and gated. Source:
/// arXiv 2412.06464; transformers, modeling_qwen3_next.py.
struct DeltaNetRule {
  ConfigKey key_heads, value_heads;
  ConfigKey key_dim, value_dim;
  ConfigKey kernel;   // tokens that the convolution sees, the token itself the last
  std::string place;  // pattern of its tensors' names, up to ".in_proj"
  /// True: each key head has its queries, keys, values and gates side by side (`in_proj_qkvz`,
  /// `in_proj_ba`). False: tensors of their own (`in_proj_qkv`, `_z`, `_b`, `_a`).
  bool by_head = false;
  /// `A_log` holds −exp(A_log) instead, as GGUF has it.
  ConfigFlag rates_stored = {"linear_rates_kept", false};
};

/// A gated convolution: with b, c and x from `in_proj`, out_proj(c · convolution of (b · x)).
/// Source: transformers, modeling_lfm2.py.
struct ShortConvolutionRule {
  ConfigKey kernel;                 // tokens, as above
  std::string place;                // pattern of its tensors' names, up to ".in_proj"
  ConfigFlag biased = {"", false};  // true: all three have biases
};

/// Which layers attend, and what the others have. The first of these that the file has: a list of
/// kinds; a text with a letter for each layer; a list of the layers that attend; an interval.
struct MixerRule {
  std::vector<LayerKind> kinds;  // the first that attends, and the first that does not, are
                                 // those of lists of layers and of intervals
  std::vector<std::string> list_keys = {};  // of config.json, of kinds
  std::string letters_key = {};             // of config.json
  std::vector<LayerKind> letters = {};
  std::string attending_key = {};  // of config.json, a list of layers
  std::int64_t first_layer = 0;    // the number that this list gives the first layer
  ConfigKey interval = {};         // n; no value: all layers attend, or what `usual` says
  ConfigKey offset = {};           // layers i with i % n = this; no value: n − 1
  bool not_first = false;          // layer 0 does not attend even so
  std::string usual = {};          // the kind of all layers where the file says nothing
  std::vector<std::int64_t> usual_attending = {};  // or the layers that then attend
  bool lists_every_layer = false;  // there are as many layers as the list or text names
  /// Attention reads so many streams side by side; more than one: not the residual stream alone.
  std::int64_t streams = 1;
  /// Layers that attend take turns in sharing the weights of so many blocks, which are stored under
  /// the first layer of each; `{group}` in a pattern is that layer. No name: each has its own.
  ConfigKey shared_blocks = {};
  // How the forward pass computes layers that do not attend; at most one. None: it cannot.
  std::optional<DeltaNetRule> delta_net = {};
  std::optional<ShortConvolutionRule> short_convolution = {};
};

}  // namespace attnscope
