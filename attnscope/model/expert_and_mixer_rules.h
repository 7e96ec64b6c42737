// How descriptions of architectures specify mixtures of experts and layers without attention. The
// files in families/ fill in these rules; nothing here is specific to one model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/model/architecture.h"
#include "attnscope/model/config_keys.h"

namespace attnscope {

/// How expert weights are computed from the router logits.
enum class RouterScore {
  softmax,            // over all logits
  sigmoid,            // of each logit
  softmax_of_chosen,  // the largest logits are selected; the softmax is over them only
  sigmoid_of_chosen,  // the largest logits are selected; sigmoid of each
  /// Selects two experts: the largest logit, then the largest of the others. The weight of a
  /// selected expert with logit m is its softmax among the logits x with (m - x) / max(|x|, m) <= 2
  /// jitter. The softmax of the second expert excludes the first. Source: PhiMoE, arXiv:2409.12136.
  sparsemixer,
};

/// How a group of experts is scored if experts are selected only from the best groups.
enum class GroupScore { best, sum_of_two_best };

/// Which layers have experts: those that meet all of these conditions. The others have a dense MLP.
struct ExpertLayersRule {
  ConfigKey every = {"", 1};  // layer % this is the next number; none: layer + 1 is a multiple
  ConfigKey offset = {};
  ConfigKey first = {"", 0};  // first layer
  ConfigKey last = {};        // last layer; none or -1: the last layer of the model
  std::string dense = {};     // a key that lists layers without experts
  std::string listed = {};    // a key that lists all layers with experts, instead of the above
  std::string types = {};     // a list with "sparse" or "dense" for every layer, instead of the
                              // above
  bool by_kind = false;       // layers that consist of experts only, see MixerRule
};

/// One of the layouts in which files store the matrices of experts.
struct ExpertTensors {
  /// Rules for gate, up and down (or up and down). `{expert}` in a name stands for the expert's
  /// number. Without it, the first axis of the tensor is the expert.
  std::vector<WeightRule> weights;
  /// Stacked tensors may be (outputs, inputs) or (inputs, outputs): the order that fits the sizes.
  /// If both fit, the rule decides.
  bool either_way = false;
};

/// Norms of a mixture of experts. Routed experts then read the residual stream x itself, and shared
/// experts read the MLP's input: y = output(Σ weight · expert(input(x))) +
/// shared_output(shared(…)). Patterns under the prefix, named as in NormRule.
struct ExpertNorms {
  std::string input, output, shared_output;
  /// The router reads rms(x) times this (D,), divided by √D.
  std::string router_gain;
};

/// For each token, logits are turned into scores. By score + bias, the best groups are selected,
/// then the best experts in them. Weights use the scores without bias: y = Σ weight · expert(x) +
/// shared(x).
struct MoeRule {
  /// E, from the first of these keys that the file has. 0: no layer has experts.
  std::vector<std::string> experts;
  std::optional<std::int64_t> default_experts = {};
  std::int64_t dense_up_to = 0;     // up to this number of experts, layers have a dense MLP (Jamba:
                                    // 1)
  std::vector<std::string> chosen;  // k, from the first of these keys that the file has
  std::optional<std::int64_t> default_chosen = {};
  ConfigKey width;        // F of one expert
  ConfigKey inputs = {};  // dimension that experts read and write, if not the hidden size D
  /// Then also their projections: patterns, (inputs, D) and (D, inputs).
  std::string latent_down = {}, latent_up = {};
  ExpertLayersRule layers = {};
  std::vector<ExpertTensors> tensors;  // the first layout whose names are in the files

  RouterScore score = RouterScore::softmax;
  ConfigNumber jitter = {};                   // of sparsemixer
  std::vector<std::string> choice_bias = {};  // (E,), patterns; the first one in the file is used,
                                              // and one must exist. Empty: no bias
  ConfigCondition grouped = {};               // groups apply only if this holds; no key: always
  ConfigKey groups = {"", 1};                 // number of equal, consecutive groups of experts
  ConfigKey kept_mlp_groups = {"", 1};        // number of groups that are selected
  GroupScore group_score = GroupScore::best;
  ConfigFlag normalize = {"", false};  // weights / max(their sum + epsilon, least)
  double normalize_epsilon = 0;
  ConfigNumber normalize_least = {"", 0};
  ConfigNumber times = {"", 1};  // factor of all weights
  bool weighs_input = false;     // expert(weight · x) instead of weight · expert(x)
  /// Gated experts with clamping: with g = min(gate, clamp) and u = up clipped to ±clamp, computes
  /// (u + 1) g σ(alpha g) instead of the activation. No clamp: not used.
  ConfigNumber clamp = {};
  ConfigNumber alpha = {"", 1};

  ConfigKey shared_width = {};      // F of the shared experts together
  ConfigKey shared_count = {};      // or their number, each as wide as a routed expert
  std::string shared_weight = {};   // (1, D), pattern: the output of the shared experts is
                                    // multiplied by σ(this · x)
  std::string expert_factors = {};  // (E,), pattern: factor of each expert's weight, applied last
  std::optional<ExpertNorms> norms = {};
};

// Layers that mix tokens by other means than attention: Mamba, DeltaNet, convolutions.

/// What follows a layer's attention, or the mixer that replaces it.
enum class AfterMixer {
  usual,    // the same as in all other layers of the architecture
  nothing,  // nothing: each layer is a single block (Nemotron-H)
  mlp,      // the layer is only an MLP
  experts,  // the layer is only experts
};

/// A layer type, by its name in config.json.
struct LayerKind {
  std::string name;
  bool attends = false;
  std::string mixer = {};  // the mixer instead of attention, or next to it; empty: none
  AfterMixer after = AfterMixer::usual;
  bool skipped = false;  // texts skip the layer, because it only attends to images (Mllama)
};

/// Gated DeltaNet: queries, keys and values pass through a causal convolution, and each value head
/// keeps a state S (d_k, d_v). With unit keys k, and decay a and step b of a token, S is first
/// multiplied by a. Then S += k ⊗ b (v − Sᵀ k). The head output is Sᵀ q, normalized and gated.
/// Source: arXiv 2412.06464; transformers, modeling_qwen3_next.py.
struct DeltaNetRule {
  ConfigKey key_heads, value_heads;
  ConfigKey key_dim, value_dim;
  ConfigKey kernel;   // tokens per convolution window, which ends with the current token
  std::string place;  // pattern of its tensor names, up to ".in_proj"
  /// True: queries, keys, values and gates are interleaved per key head (`in_proj_qkvz`,
  /// `in_proj_ba`). False: they are separate tensors (`in_proj_qkv`, `_z`, `_b`, `_a`).
  bool by_head = false;
  /// `A_log` stores −exp(A_log) instead, as in GGUF.
  ConfigFlag rates_stored = {"linear_rates_kept", false};
};

/// A gated convolution: `in_proj` gives b, c and x; the output is out_proj(c · convolution(b · x)).
/// Source: transformers, modeling_lfm2.py.
struct ShortConvolutionRule {
  ConfigKey kernel;                 // tokens per convolution window, which ends with the current
                                    // token
  std::string place;                // pattern of its tensor names, up to ".in_proj"
  ConfigFlag biased = {"", false};  // true: all three have biases
};

/// Kimi Delta Attention (KDA): like Gated DeltaNet, but each key dimension has its own decay.
/// Queries, keys and values have their own convolutions. The decays and the gates of the output are
/// products of two matrices; the gate is σ. Source: arXiv 2510.26692; transformers,
/// modeling_kimi_linear.py.
struct KimiDeltaRule {
  ConfigKey heads, head_dim;
  ConfigKey kernel;   // tokens per convolution window, which ends with the current token
  std::string place;  // pattern of its tensor names, up to ".q_proj"
};

/// RG-LRU: a branch `linear_x` passes through a causal convolution and a recurrence with one state
/// per channel, h = a h + √(1 − a²) i x. The decays a and the input gates i depend on the input,
/// through block-diagonal matrices. The result is multiplied by a second branch, `linear_y`, with
/// the MLP's activation. Source: Griffin, arXiv 2402.19427; transformers,
/// modeling_recurrent_gemma.py.
struct RgLruRule {
  ConfigKey width;    // channels; no value: hidden size
  ConfigKey kernel;   // tokens per convolution window, which ends with the current token
  std::string place;  // pattern of its tensor names, up to ".linear_x"
};

/// Mamba: `in_proj` gives channels x and gates z. x passes through a causal convolution, and
/// `x_proj` of it gives a low-rank step, B and C (n,), each normalized (Jamba). With dt =
/// softplus(dt_proj step), each channel keeps a state S (n,): S = exp(−exp(A_log) dt) S + dt x B.
/// The output is out_proj((Sᵀ C + D x) · silu(z)). Source: arXiv 2312.00752; transformers,
/// modeling_jamba.py.
struct MambaRule {
  ConfigKey state_dim;              // n
  ConfigKey kernel;                 // tokens per convolution window, which ends with the current
                                    // token
  ConfigKey expand;                 // channels / D
  ConfigKey step_rank;              // "auto", or no value: D / 16, rounded up
  std::string place;                // pattern of its tensor names, up to ".in_proj"
  ConfigFlag biased = {"", false};  // `in_proj` and `out_proj` must have biases
  ConfigFlag convolution_biased = {"", true};
};

/// Mamba-2: `in_proj` gives gates z, channels (x, B, C), which pass through a causal convolution,
/// and a step of each head. With dt = softplus(step + dt_bias), clipped, a head keeps a state S (n,
/// p): S = exp(−exp(A_log) dt) S + B ⊗ dt x. Groups of heads share B and C. The output y = Sᵀ C + D
/// x of all heads is gated by silu(z) and normalized per group. Source: arXiv 2405.21060;
/// transformers, modeling_bamba.py.
struct Mamba2Rule {
  ConfigKey heads;
  ConfigKey head_dim;    // p; "auto", or no value: channels of x / heads
  ConfigKey inner = {};  // channels of x; no value: `expand` D
  ConfigKey expand = {"", 2};
  ConfigKey groups, state_dim;      // state_dim: n
  ConfigKey kernel;                 // tokens per convolution window, which ends with the current
                                    // token
  std::string place;                // pattern of its tensor names, up to ".in_proj"
  ConfigFlag biased = {"", false};  // `in_proj` must have a bias
  ConfigFlag output_biased = {"", false};
  ConfigFlag convolution_biased = {"", true};
  std::string activation_key = {};      // of the convolution; empty: silu
  std::string step_limits = {};         // a list: the smallest and the largest dt
  ConfigNumber least_step = {};         // or only the smallest
  ConfigNumber epsilon = {};            // of the norm; no value: that of the layer's other norms
  ConfigFlag normalized = {"", true};   // false: y silu(z) has no norm
  ConfigFlag norm_first = {"", false};  // true: norm(y) silu(z) instead of norm(y silu(z))
  bool heads_fill_channels = true;      // false: heads decide the number of channels
  ConfigNumber input_factor = {"", 1};
  std::string projection_factors = {};  // a list of factors of z, x, B, C and the steps
};

/// Lightning attention: with queries, keys and values after the MLP's activation, a head keeps a
/// state S (d, d): S = decay S + k ⊗ v. The output Sᵀ q of all heads is normalized, and gated by
/// σ(output_gate x). Head h (from 1) of layer l has the decay exp(−2^(−8 h / H) (1 − l / (L − 1 +
/// 1e-5) + 1e-5)). Source: arXiv 2501.08313; transformers, modeling_minimax.py.
struct LightningRule {
  std::string place;  // pattern of its tensor names, up to ".qkv_proj"
};

/// Attention and an MLP before the mixer of a layer. Several layers share their weights. With the
/// residual stream x and the embedding x0, t = projection(mlp(norm(attention(norm([x, x0]))))), and
/// the layer outputs x + mixer(norm(x + t)). The norms of attention and MLP are those of NormRule.
/// Each use of a block adds its own products of two matrices to W_Q, W_K and W_V, and to the gate
/// and W_up of the MLP. In their names, `{inner}` counts the uses of all blocks. Source: arXiv
/// 2411.15242; transformers, modeling_zamba2.py.
struct SharedBlockRule {
  /// The number of blocks that the layers use in turn. Each is stored under the first layer that
  /// uses it; `{group}` in a pattern is that layer.
  ConfigKey count;
  std::string projection;   // pattern, (D, D)
  std::string mixer_place;  // `place` of the mixer in these layers
  std::string mixer_norm;   // norm of the mixer's input in these layers
  std::string other_norm;   // norm of the mixer's input in the other layers
  ConfigKey adapter_rank;   // r
  ConfigFlag adapts_attention;
  /// Patterns up to ".0.weight", (r, inputs), and ".1.weight", (outputs, r). The outputs of
  /// `mlp_adapter` are those of the gate, then those of W_up.
  std::string query_adapter, key_adapter, value_adapter, mlp_adapter;
};

/// Which layers have attention, and what the others have. A file specifies it by a list of layer
/// types, a string with one letter per layer, a list of attention layers, or an interval. The first
/// of these that the file has is used.
struct MixerRule {
  std::vector<LayerKind> kinds;  // for lists of layers and intervals, the first type with attention
                                 // and the first one without are used
  std::vector<std::string> list_keys = {};  // in config.json, a list of layer types
  bool repeats_list = false;                // the list is a pattern that the layers repeat
  std::string letters_key = {};             // in config.json, a string
  std::vector<LayerKind> letters = {};
  std::string attending_key = {};  // in config.json, a list of layers
  std::int64_t first_layer = 0;    // the number of the first layer in this list
  bool lists_others = false;       // this list and `usual_attending` are the layers without
                                   // attention instead
  ConfigKey interval = {};         // n; no value: all layers have attention, or `usual` decides
  ConfigKey offset = {};           // layers i with i % n = this; no value: n − 1
  bool not_first = false;          // layer 0 has no attention in any case
  std::string usual = {};          // the type of all layers if the file does not specify types
  std::vector<std::int64_t> usual_attending = {};  // or the layers that have attention in that case
  bool lists_every_layer = false;  // the length of the list or string is the number of layers
  /// Number of concatenated streams that attention reads. If larger than one, its input is not the
  /// residual stream alone.
  std::int64_t streams = 1;
  std::optional<SharedBlockRule> block = {};  // none: each layer has its own weights
  // How the forward pass computes mixers; at most one. None: it cannot.
  std::optional<DeltaNetRule> delta_net = {};
  std::optional<ShortConvolutionRule> short_convolution = {};
  std::optional<KimiDeltaRule> kimi_delta = {};
  std::optional<RgLruRule> rg_lru = {};
  std::optional<MambaRule> mamba = {};
  std::optional<Mamba2Rule> mamba2 = {};
  std::optional<LightningRule> lightning = {};
  ConfigNumber output_factor = {"", 1};  // factor of the mixer's output

  bool is_computed() const {
    return delta_net || short_convolution || kimi_delta || rg_lru || mamba || mamba2 || lightning;
  }
};

}  // namespace attnscope
