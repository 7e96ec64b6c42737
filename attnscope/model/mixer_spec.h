// How the tokens of each layer are mixed, if not by attention: resolved from config.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/model/expert_and_mixer_rules.h"

namespace attnscope {

struct LayerMixer {
  bool attends = true;
  std::string name;  // the mixer instead of attention, or next to it; empty: none
  AfterMixer after = AfterMixer::usual;
  bool skipped = false;         // texts skip the layer
  std::int64_t weights_of = 0;  // the layer whose attention weights it uses
  std::int64_t use = 0;         // the number of earlier layers with shared attention weights

  /// Whether `name` is a mixer, and not an MLP or experts that are the whole layer.
  bool mixes() const {
    return !name.empty() && !skipped && after != AfterMixer::mlp && after != AfterMixer::experts;
  }
};

/// State sizes of the whole model, in float32 values per layer with a mixer.
struct MixerSizes {
  std::vector<LayerMixer> layers;  // one entry per layer of the model
  std::int64_t state = 0;          // values that remain after a text (the recurrent state)
  std::int64_t row = 0;            // values per token while the layer runs
};

/// DeltaNetRule, resolved.
struct DeltaNetSpec {
  std::int64_t key_heads = 0, value_heads = 0;  // value_heads is a multiple of key_heads
  std::int64_t key_dim = 0, value_dim = 0;      // of one head
  std::int64_t kernel = 1;
  std::string place;
  bool by_head = false;
  bool rates_stored = false;
  double epsilon = 0;                          // of the norm of the head outputs
  Activation activation = Activation::linear;  // applied to the output of the convolution

  std::int64_t keys() const { return key_heads * key_dim; }
  std::int64_t values() const { return value_heads * value_dim; }
  std::int64_t convolved() const { return 2 * keys() + values(); }
  std::int64_t projected() const { return convolved() + values() + 2 * value_heads; }
};

/// ShortConvolutionRule, resolved.
struct ShortConvolutionSpec {
  std::int64_t kernel = 1;
  std::string place;
  bool biased = false;
};

/// KimiDeltaRule, resolved.
struct KimiDeltaSpec {
  std::int64_t heads = 0, head_dim = 0;
  std::int64_t kernel = 1;
  std::string place;
  double epsilon = 0;                          // of the norm of the head outputs
  Activation activation = Activation::linear;  // applied to the output of the convolution

  std::int64_t channels() const { return heads * head_dim; }
  std::int64_t convolved() const { return 3 * channels(); }
  /// Queries, keys, values, steps, and the inner dimensions of decays and gates.
  std::int64_t projected() const { return convolved() + heads + 2 * head_dim; }
};

/// RgLruRule, resolved.
struct RgLruSpec {
  std::int64_t width = 0;   // channels, a multiple of the number of blocks
  std::int64_t blocks = 1;  // of the gate matrices
  std::int64_t kernel = 1;
  std::string place;
  Activation activation = Activation::linear;

  std::int64_t block_width() const { return width / blocks; }
};

/// MambaRule, resolved.
struct MambaSpec {
  std::int64_t channels = 0, state_dim = 0, step_rank = 0;
  std::int64_t kernel = 1;
  std::string place;
  bool biased = false, convolution_biased = true;
  double epsilon = 0;                          // of the norms of step, B and C
  Activation activation = Activation::linear;  // applied to the output of the convolution
};

/// Mamba2Rule, resolved.
struct Mamba2Spec {
  std::int64_t heads = 0, head_dim = 0;
  std::int64_t groups = 0, state_dim = 0;  // heads is a multiple of groups
  std::int64_t kernel = 1;
  std::string place;
  bool biased = false, output_biased = false, convolution_biased = true;
  Activation activation = Activation::silu;  // applied to the output of the convolution
  double least_step = 0;
  std::optional<double> most_step;
  bool normalized = true, norm_first = false;
  double epsilon = 0;
  double input_factor = 1;
  std::vector<double> projection_factors;  // of z, x, B, C and the steps; empty: 1

  std::int64_t channels() const { return heads * head_dim; }
  std::int64_t shared() const { return groups * state_dim; }  // size of B, and of C
  std::int64_t convolved() const { return channels() + 2 * shared(); }
  std::int64_t projected() const { return channels() + convolved() + heads; }
};

/// LightningRule, resolved.
struct LightningSpec {
  std::int64_t heads = 0, head_dim = 0;
  std::string place;
  Activation activation = Activation::linear;  // of queries, keys and values

  std::int64_t channels() const { return heads * head_dim; }
};

/// The mixer that replaces a layer's attention, or runs next to it; exactly one is set.
struct MixerSpec {
  std::optional<DeltaNetSpec> delta_net;
  std::optional<ShortConvolutionSpec> short_convolution;
  std::optional<KimiDeltaSpec> kimi_delta;
  std::optional<RgLruSpec> rg_lru;
  std::optional<MambaSpec> mamba;
  std::optional<Mamba2Spec> mamba2;
  std::optional<LightningSpec> lightning;
  double factor = 1;  // factor of the output
};

}  // namespace attnscope
