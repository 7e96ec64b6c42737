// Rotary positions: the angles by which queries and keys are rotated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/base/heads.h"

namespace attnscope {

/// How a model was extended beyond the context that it was trained with.
enum class RopeScaling { none, linear, dynamic, llama3, yarn, longrope, proportional, unknown };

/// How one layer's queries and keys are rotated.
struct Rope {
  RopeScaling scaling = RopeScaling::none;
  std::string scaling_name = "default";  // as in the file
  double theta = 10000;
  double fraction = 1;           // of the head's dimensions, from the first on; proportional: of
                                 // its pairs, and the others keep their places
  std::optional<double> factor;  // of all scalings; none: context / original_context
  double context = 0;            // max_position_embeddings, tokens
  double original_context = 0;   // tokens
  double low_freq_factor = 1;    // of llama3
  double high_freq_factor = 4;
  double beta_fast = 32;  // of yarn
  double beta_slow = 1;
  bool truncate = true;
  std::optional<double> mscale, mscale_all_dim;
  std::optional<double> attention_factor;         // of yarn and longrope
  std::vector<double> short_factor, long_factor;  // of longrope, one for each pair
  bool short_factors_only = false;                // of longrope, at every length
  std::optional<double> short_gain, long_gain;    // up to the original context, and beyond it
  bool half_truncated = false;                    // daisy's: see RopeRule
  std::optional<std::int64_t> dimensions;         // rotated ones of a head, in place of `fraction`
  RotaryPairs pairs = RotaryPairs::halves;
  bool last = false;            // the head's last dimensions turn, not its first
  std::optional<double> alpha;  // of dynamic (HunYuan): for every length

  bool operator==(const Rope&) const = default;
};

/// n pairs, which are those of `Rope::pairs`. Only the head's first, or last, 2 n dimensions turn.
struct RopeFrequencies {
  std::vector<float> radians_per_token;  // (n,)
  double gain = 1;                       // factor of cosines and sines
};

/// YaRN's factor of queries and keys of texts that are stretched `factor` times.
double yarn_gain(double mscale, double factor);

/// For a text of `tokens` tokens, because dynamic and longrope depend on the length. In float32, as
/// models compute them. Source: transformers, modeling_rope_utils.py. Throws Error(unsupported) for
/// an unknown scaling, Error(format) for factor lists of the wrong length; `where` names the file.
RopeFrequencies rope_frequencies(const Rope& rope, std::int64_t head_dim, std::int64_t tokens,
                                 const std::string& where);

}  // namespace attnscope
