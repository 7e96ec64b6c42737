// Rotary position embeddings (RoPE): the angles by which queries and keys are rotated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/base/heads.h"

namespace attnscope {

/// How a model's context was extended beyond its training length.
enum class RopeScaling { none, linear, dynamic, llama3, yarn, longrope, proportional, unknown };

/// How queries and keys of one layer are rotated.
struct Rope {
  RopeScaling scaling = RopeScaling::none;
  std::string scaling_name = "default";  // as in the file
  double theta = 10000;
  double fraction = 1;           // share of the head's dimensions, from the first on. proportional:
                                 // share of its pairs; the pair layout covers the whole head
  std::optional<double> factor;  // for all scalings; none: context length / original context
  double context = 0;            // max_position_embeddings, tokens
  double original_context = 0;   // tokens
  double low_freq_factor = 1;    // for llama3
  double high_freq_factor = 4;
  double beta_fast = 32;  // for yarn
  double beta_slow = 1;
  bool truncate = true;
  std::optional<double> mscale, mscale_all_dim;
  std::optional<double> attention_factor;         // for yarn and longrope
  std::vector<double> short_factor, long_factor;  // for longrope, one per pair
  bool short_factors_only = false;                // for longrope, at every length
  std::optional<double> short_gain, long_gain;    // for longrope: up to the original context, and
                                                  // beyond it
  bool half_truncated = false;                    // daisy: see RopeRule
  std::optional<std::int64_t> dimensions;         // number of rotary dimensions of a head, instead
                                                  // of `fraction`
  RotaryPairs pairs = RotaryPairs::halves;
  bool last = false;            // the last dimensions of the head are rotated, not the first
  std::optional<double> alpha;  // for dynamic scaling (HunYuan), at every length

  bool operator==(const Rope&) const = default;
};

/// The angles of n pairs, laid out as in `Rope::pairs`. Only the first (or last) 2 n dimensions of
/// a head are rotated.
struct RopeFrequencies {
  std::vector<float> radians_per_token;  // (n,)
  double gain = 1;                       // factor of cosines and sines
};

/// Returns YaRN's factor of queries and keys for contexts that are extended `factor` times.
double yarn_gain(double mscale, double factor);

/// Returns the rotation for a text of `tokens` tokens, because dynamic and longrope depend on the
/// length. Computed in float32, as in the models. Source: transformers, modeling_rope_utils.py.
/// Throws Error(unsupported) for an unknown scaling, Error(format) for factor lists of the wrong
/// length; `where` names the file.
RopeFrequencies rope_frequencies(const Rope& rope, std::int64_t head_dim, std::int64_t tokens,
                                 const std::string& where);

}  // namespace attnscope
