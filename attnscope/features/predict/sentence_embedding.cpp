#include "attnscope/features/predict/sentence_embedding.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace attnscope {
namespace {

/// One pooling of one column of the states.
double pooled(SentencePooling pooling, MatrixView<const float> states, std::int64_t column) {
  const std::int64_t tokens = states.rows;
  if (pooling == SentencePooling::first) return states(0, column);
  if (pooling == SentencePooling::last) return states(tokens - 1, column);
  double most = -std::numeric_limits<double>::infinity(), sum = 0, weighted = 0;
  for (std::int64_t token = 0; token < tokens; ++token) {
    const double value = states(token, column);
    most = std::max(most, value);
    sum += value;
    weighted += static_cast<double>(token + 1) * value;
  }
  const auto count = static_cast<double>(tokens);
  switch (pooling) {
    case SentencePooling::max: return most;
    case SentencePooling::mean: return sum / count;
    case SentencePooling::scaled_sum: return sum / std::sqrt(count);
    default: return weighted / (count * (count + 1) / 2);
  }
}

}  // namespace

std::vector<float> sentence_embedding(const SentenceModules& modules,
                                      MatrixView<const float> states) {
  std::vector<double> values;
  for (const SentencePooling pooling : modules.poolings) {
    for (std::int64_t column = 0; column < states.cols; ++column) {
      values.push_back(pooled(pooling, states, column));
    }
  }
  double squares = 0;
  for (const double value : values) squares += value * value;
  constexpr double kLeastNorm = 1e-12;  // as in torch.nn.functional.normalize
  const double scale = modules.normalizes ? 1 / std::max(std::sqrt(squares), kLeastNorm) : 1;
  std::vector<float> out;
  for (const double value : values) out.push_back(static_cast<float>(value * scale));
  return out;
}

}  // namespace attnscope
