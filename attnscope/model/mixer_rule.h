// Layers whose tokens see each other through something else than attention, as data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/model/config_keys.h"

namespace attnscope {

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
  ConfigFlag rates_kept = {"linear_rates_kept", false};
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
