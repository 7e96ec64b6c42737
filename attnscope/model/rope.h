// Rotary position: by which angles queries and keys are turned.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attnscope {

/// How a model was stretched beyond the context that it was trained with.
enum class RopeScaling { none, linear, dynamic, llama3, yarn, longrope, unknown };

/// How one layer's queries and keys are turned.
struct Rope {
  RopeScaling scaling = RopeScaling::none;
  std::string scaling_name = "default";  // as the file has it
  double theta = 10000;
  double fraction = 1;           // of the head's dimensions, from the first on
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
  bool half_truncated = false;                    // daisy's: see RopeRule

  bool operator==(const Rope&) const = default;
};

/// Pair p is dimensions p and p + n of a head, n = the number of pairs; from 2 n on none is turned.
struct RopeFrequencies {
  std::vector<float> radians_per_token;  // (n,)
  double gain = 1;                       // by which cosines and sines are multiplied
};

/// For a text of `tokens` tokens: dynamic and longrope turn long texts otherwise. In float32, as
/// models compute them. Source: transformers, modeling_rope_utils.py. Throws Error(unsupported) for
/// an unknown scaling, Error(format) for lists of another length; `where` names the file.
RopeFrequencies rope_frequencies(const Rope& rope, std::int64_t head_dim, std::int64_t tokens,
                                 const std::string& where);

}  // namespace attnscope
