#include "attnscope/features/experts/measures.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "attnscope/numerics/products/dense_products.h"

namespace attnscope {
namespace {

double squared_norm(const Matrix<double>& matrix) {
  const double* values = matrix.data();
  double sum = 0;
  for (std::int64_t at = 0; at < matrix.rows() * matrix.cols(); ++at)
    sum += values[at] * values[at];
  return sum;
}

PairSimilarity summed_up(const std::vector<double>& pairs) {
  if (pairs.empty()) return {};
  PairSimilarity out{.least = pairs.front(), .most = pairs.front()};
  for (const double pair : pairs) {
    out.mean += pair / static_cast<double>(pairs.size());
    out.least = std::min(out.least, pair);
    out.most = std::max(out.most, pair);
  }
  return out;
}

}  // namespace

PairSimilarity block_similarity(MatrixView<const double> stacked, std::int64_t count,
                                const Compute& compute) {
  const std::int64_t rows = stacked.rows / count;
  const auto block = [&](std::int64_t at) { return stacked.row_block(at * rows, rows); };
  std::vector<double> norms;
  for (std::int64_t at = 0; at < count; ++at) {
    norms.push_back(std::sqrt(squared_norm(multiply_transposed(block(at), block(at), compute))));
  }
  std::vector<double> pairs;
  for (std::int64_t a = 0; a < count; ++a) {
    for (std::int64_t b = a + 1; b < count; ++b) {
      compute.check_stop();
      const double product = squared_norm(multiply_transposed(block(a), block(b), compute));
      const double norm = norms[static_cast<std::size_t>(a)] * norms[static_cast<std::size_t>(b)];
      pairs.push_back(norm > 0 ? product / norm : 0);
    }
  }
  return summed_up(pairs);
}

double expected_block_similarity(std::int64_t rows, std::int64_t width) {
  return static_cast<double>(rows) / static_cast<double>(rows + width + 1);
}

PairSimilarity row_cosines(MatrixView<const double> rows) {
  const auto product = [&](std::int64_t a, std::int64_t b) {
    double sum = 0;
    for (std::int64_t col = 0; col < rows.cols; ++col) sum += rows(a, col) * rows(b, col);
    return sum;
  };
  std::vector<double> norms, pairs;
  for (std::int64_t row = 0; row < rows.rows; ++row) norms.push_back(std::sqrt(product(row, row)));
  for (std::int64_t a = 0; a < rows.rows; ++a) {
    for (std::int64_t b = a + 1; b < rows.rows; ++b) {
      const double norm = norms[static_cast<std::size_t>(a)] * norms[static_cast<std::size_t>(b)];
      pairs.push_back(norm > 0 ? product(a, b) / norm : 0);
    }
  }
  return summed_up(pairs);
}

void RoutingCounts::add(const RoutingCounts& other) {
  if (tokens == 0) {
    *this = other;
    return;
  }
  tokens += other.tokens;
  entropy += other.entropy;
  ties += other.ties;
  for (std::size_t at = 0; at < pairs.size(); ++at) pairs[at] += other.pairs[at];
  for (std::size_t at = 0; at < weights.size(); ++at) weights[at] += other.weights[at];
}

RoutingCounts count_routing(MatrixView<const float> logits, std::span<const std::int64_t> chosen,
                            std::span<const float> weights, std::span<const std::uint8_t> tied,
                            const std::optional<std::vector<std::int64_t>>& counted) {
  const std::int64_t k = std::ssize(chosen) / logits.rows;
  RoutingCounts counts{
      .experts = logits.cols,
      .chosen = k,
      .pairs = std::vector<std::int64_t>(static_cast<std::size_t>(logits.cols * logits.cols)),
      .weights = std::vector<double>(static_cast<std::size_t>(k))};
  const auto add = [&](std::int64_t row) {
    ++counts.tokens;
    if (row < std::ssize(tied)) counts.ties += tied[static_cast<std::size_t>(row)];
    const auto own = chosen.subspan(static_cast<std::size_t>(row * k), static_cast<std::size_t>(k));
    for (const std::int64_t a : own) {
      for (const std::int64_t b : own) {
        ++counts.pairs[static_cast<std::size_t>(a * logits.cols + b)];
      }
    }
    for (std::int64_t at = 0; at < k; ++at) {
      counts.weights[static_cast<std::size_t>(at)] +=
          weights[static_cast<std::size_t>(row * k + at)];
    }
    // Entropy of a softmax: log Σ eˣ − Σ p x, with the largest logit subtracted from every x.
    double largest = logits(row, 0), sum = 0, mean = 0;
    for (std::int64_t expert = 1; expert < logits.cols; ++expert) {
      largest = std::max(largest, static_cast<double>(logits(row, expert)));
    }
    for (std::int64_t expert = 0; expert < logits.cols; ++expert) {
      const double less = logits(row, expert) - largest;
      sum += std::exp(less);
      mean += std::exp(less) * less;
    }
    counts.entropy += std::log(sum) - mean / sum;
  };
  if (counted) {
    for (const std::int64_t row : *counted) add(row);
  } else {
    for (std::int64_t row = 0; row < logits.rows; ++row) add(row);
  }
  return counts;
}

RoutingMeasures measure_routing(const RoutingCounts& counts) {
  const auto tokens = static_cast<double>(counts.tokens);
  const std::int64_t experts = counts.experts;
  const auto together = [&](std::int64_t a, std::int64_t b) {
    return static_cast<double>(counts.pairs[static_cast<std::size_t>(a * experts + b)]) / tokens;
  };
  RoutingMeasures out{.router_entropy = counts.entropy / tokens};
  double entropy = 0;
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    const double load = together(expert, expert) / static_cast<double>(counts.chosen);
    out.load.push_back(load);
    out.largest_load = std::max(out.largest_load, load);
    if (load > 0) entropy -= load * std::log(load);
  }
  out.effective_experts = std::exp(entropy);
  for (const double sum : counts.weights) out.mean_weights.push_back(sum / tokens);
  double most = 0;
  for (std::int64_t a = 0; a < experts; ++a) {
    for (std::int64_t b = 0; b < experts; ++b) {
      out.together.push_back(together(a, b));
      if (a >= b || together(a, b) <= most) continue;
      most = together(a, b);
      out.top_pair = std::vector<std::int64_t>{a, b};
      out.top_pair_lift = most / (together(a, a) * together(b, b));
    }
  }
  return out;
}

}  // namespace attnscope
