#include "attnscope/model/rope.h"

#include <cmath>
#include <numbers>
#include <string>

#include "attnscope/core/error.h"

namespace attnscope {
namespace {

/// Long waves are stretched by `factor`, short ones kept, those between interpolated.
double llama3_frequency(const Rope& rope, double frequency) {
  const double wave_length = 2 * std::numbers::pi / frequency;  // tokens
  const double long_from = rope.original_context / rope.low_freq_factor;
  const double short_to = rope.original_context / rope.high_freq_factor;
  if (wave_length > long_from) return frequency / rope.factor;
  if (wave_length < short_to) return frequency;
  const double smooth = (rope.original_context / wave_length - rope.low_freq_factor) /
                        (rope.high_freq_factor - rope.low_freq_factor);
  return (1 - smooth) * frequency / rope.factor + smooth * frequency;
}

}  // namespace

std::vector<double> rope_frequencies(const Rope& rope, std::int64_t head_dim,
                                     std::string_view where) {
  const bool linear = rope.scaling == "linear", llama3 = rope.scaling == "llama3";
  if (!linear && !llama3 && rope.scaling != "default") {
    throw Error(ErrorKind::unsupported,
                {.file = std::string(where),
                 .problem = "rotary scaling '" + verbatim(rope.scaling) + "' is not computed",
                 .hint = "computed: default, linear, llama3"});
  }
  const auto rotated = static_cast<std::int64_t>(static_cast<double>(head_dim) * rope.fraction);
  std::vector<double> frequencies;
  for (std::int64_t pair = 0; pair < rotated / 2; ++pair) {
    const double exponent = 2 * static_cast<double>(pair) / static_cast<double>(rotated);
    const double frequency = std::pow(rope.theta, -exponent);
    frequencies.push_back(linear   ? frequency / rope.factor
                          : llama3 ? llama3_frequency(rope, frequency)
                                   : frequency);
  }
  return frequencies;
}

}  // namespace attnscope
