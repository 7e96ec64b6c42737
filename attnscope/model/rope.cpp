#include "attnscope/model/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"

namespace attnscope {
namespace {

// Models compute this in float32, and some steps in Python's float64. Each step below uses the same
// type, because at positions in the thousands the last bits matter.

/// Returns theta^(2 pair / rotated). A pair rotates by the inverse of this value per position.
float wave_number(double theta, std::int64_t pair, std::int64_t rotated) {
  const float exponent = static_cast<float>(2 * pair) / static_cast<float>(rotated);
  return static_cast<float>(std::pow(static_cast<double>(static_cast<float>(theta)), exponent));
}

/// Scales long wavelengths by `factor`, keeps short ones, and interpolates those in between.
float llama3_frequency(const Rope& rope, float frequency, double factor) {
  const auto stretched = [&](float of) { return of / static_cast<float>(factor); };
  const float wave_length = static_cast<float>(2 * std::numbers::pi) * (1 / frequency);  // tokens
  const double long_from = rope.original_context / rope.low_freq_factor;
  const double short_to = rope.original_context / rope.high_freq_factor;
  if (wave_length > static_cast<float>(long_from)) return stretched(frequency);
  if (wave_length < static_cast<float>(short_to)) return frequency;
  const float waves = static_cast<float>(rope.original_context) * (1 / wave_length);
  const float smooth = (waves - static_cast<float>(rope.low_freq_factor)) /
                       static_cast<float>(rope.high_freq_factor - rope.low_freq_factor);
  return stretched((1 - smooth) * frequency) + smooth * frequency;
}

/// YaRN: keeps pairs that rotate often within the original context, scales pairs that rotate less
/// than once, and interpolates those in between.
class YarnRamp {
 public:
  YarnRamp(const Rope& rope, std::int64_t rotated) {
    const auto pair_that_rotates = [&](double times) {
      return static_cast<double>(rotated) *
             std::log(rope.original_context / (times * 2 * std::numbers::pi)) /
             (2 * std::log(rope.theta));
    };
    first_ = pair_that_rotates(rope.beta_fast);
    last_ = pair_that_rotates(rope.beta_slow);
    if (rope.truncate) {
      first_ = std::floor(first_);
      last_ = std::ceil(last_);
    }
    first_ = std::max(first_, 0.0);
    last_ = std::min(last_, static_cast<double>(rotated - 1));
    if (first_ == last_) last_ += 0.001;
  }

  /// 0: kept, 1: scaled.
  float operator()(std::int64_t pair) const {
    const float at = (static_cast<float>(pair) - static_cast<float>(first_)) /
                     static_cast<float>(last_ - first_);
    return std::clamp(at, 0.0F, 1.0F);
  }

 private:
  double first_ = 0, last_ = 0;
};

double gain_of_yarn(const Rope& rope, double factor) {
  if (rope.attention_factor) return *rope.attention_factor;
  // Zero counts as absent, as in the source.
  if (rope.mscale.value_or(0) != 0 && rope.mscale_all_dim.value_or(0) != 0) {
    return yarn_gain(*rope.mscale, factor) / yarn_gain(*rope.mscale_all_dim, factor);
  }
  return yarn_gain(1, factor);
}

double longrope_gain(const Rope& rope, double factor) {
  if (rope.attention_factor) return *rope.attention_factor;
  return factor <= 1 ? 1.0 : std::sqrt(1 + std::log(factor) / std::log(rope.original_context));
}

/// The first pairs are rotated as if all pairs of the head were; the others are not rotated (Gemma
/// 4).
std::vector<float> proportional_frequencies(const Rope& rope, std::int64_t head_dim) {
  const auto turning =
      static_cast<std::int64_t>(std::floor(rope.fraction * static_cast<double>(head_dim) / 2));
  std::vector<float> frequencies(static_cast<std::size_t>(head_dim / 2), 0.0F);
  for (std::int64_t pair = 0; pair < std::min(turning, head_dim / 2); ++pair) {
    frequencies[static_cast<std::size_t>(pair)] =
        1 / wave_number(rope.theta, pair, head_dim) / static_cast<float>(rope.factor.value_or(1));
  }
  return frequencies;
}

/// Returns the base that makes the longest wavelength `growth` times longer.
double stretched_theta(double theta, double growth, std::int64_t rotated) {
  const double power = static_cast<double>(rotated) / static_cast<double>(rotated - 2);
  return theta * std::pow(growth, power);
}

double dynamic_theta(const Rope& rope, double factor, std::int64_t rotated, std::int64_t tokens) {
  const double length = std::max(static_cast<double>(tokens), rope.context);
  const double growth = factor * length / rope.context - (factor - 1);
  return stretched_theta(rope.theta, growth, rotated);
}

/// Source: jonathanmiddleton/daisy-wee, models/gpt2/attention.py. Negative: rotated in the opposite
/// direction.
std::vector<float> half_truncated_frequencies(double theta, std::int64_t head_dim) {
  const std::int64_t pairs = head_dim / 2;
  const std::int64_t rotary = head_dim / 4 > 0 ? head_dim / 4 : pairs;
  std::vector<float> frequencies(static_cast<std::size_t>(pairs), 0.0F);
  for (std::int64_t pair = 0; pair < rotary; ++pair) {
    const double share =
        rotary == 1 ? 0 : static_cast<double>(pair) / static_cast<double>(rotary - 1);
    frequencies[static_cast<std::size_t>(pair)] = -static_cast<float>(std::pow(theta, -share));
  }
  return frequencies;
}

}  // namespace

double yarn_gain(double mscale, double factor) {
  return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1;
}

RopeFrequencies rope_frequencies(const Rope& rope, std::int64_t head_dim, std::int64_t tokens,
                                 const std::string& where) {
  if (rope.scaling == RopeScaling::unknown) {
    throw Error(ErrorKind::unsupported,
                {.file = where,
                 .problem = "rotary scaling '" + verbatim(rope.scaling_name) + "' is not known",
                 .hint = "known: default, linear, dynamic, llama3, yarn, longrope, proportional"});
  }
  if (rope.half_truncated) {
    return {.radians_per_token = half_truncated_frequencies(rope.theta, head_dim)};
  }
  if (rope.scaling == RopeScaling::proportional) {
    return {.radians_per_token = proportional_frequencies(rope, head_dim)};
  }
  const auto rotated = rope.dimensions.value_or(
      static_cast<std::int64_t>(static_cast<double>(head_dim) * rope.fraction));
  const std::int64_t pairs = std::min((rotated + 1) / 2, head_dim / 2);
  const double factor = rope.factor.value_or(rope.context / rope.original_context);

  const bool goes_beyond = static_cast<double>(tokens) > rope.original_context;
  RopeFrequencies out;
  double theta = rope.theta;
  std::span<const double> factors;  // for longrope, one per pair
  if (rope.scaling == RopeScaling::dynamic && rotated > 2) {
    theta = rope.alpha ? stretched_theta(rope.theta, *rope.alpha, rotated)
                       : dynamic_theta(rope, factor, rotated, tokens);
  } else if (rope.scaling == RopeScaling::yarn) {
    out.gain = gain_of_yarn(rope, factor);
  } else if (rope.scaling == RopeScaling::longrope) {
    out.gain = longrope_gain(rope, factor);
    const bool is_long = goes_beyond && !rope.short_factors_only;
    factors = is_long ? rope.long_factor : rope.short_factor;
    if (std::ssize(factors) != pairs) {
      throw Error(
          ErrorKind::format,
          {.file = where,
           .problem = std::string(is_long ? "'long_factor'" : "'short_factor'") + " has " +
                      counted(factors.size(), "number") + ", expected " + std::to_string(pairs)});
    }
  }
  out.gain = (goes_beyond ? rope.long_gain : rope.short_gain).value_or(out.gain);
  const YarnRamp ramp(rope, rotated);
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    const float wave = wave_number(theta, pair, rotated);
    float frequency = 1 / wave;
    switch (rope.scaling) {
      case RopeScaling::none:
      case RopeScaling::dynamic:
      case RopeScaling::proportional:
      case RopeScaling::unknown: break;
      case RopeScaling::linear: frequency /= static_cast<float>(factor); break;
      case RopeScaling::llama3: frequency = llama3_frequency(rope, frequency, factor); break;
      case RopeScaling::yarn: {
        const float kept = 1 - ramp(pair);
        frequency = 1 / (static_cast<float>(factor) * wave) * (1 - kept) + frequency * kept;
        break;
      }
      case RopeScaling::longrope:
        frequency = 1 / (static_cast<float>(factors[static_cast<std::size_t>(pair)]) * wave);
        break;
    }
    out.radians_per_token.push_back(frequency);
  }
  return out;
}

}  // namespace attnscope
