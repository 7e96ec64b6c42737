// Similarity of the experts of a layer, independent of the order of their neurons.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// Statistics over all pairs of experts; empty for a single expert.
struct PairSimilarity {
  double mean = 0, least = 0, most = 0;
};

/// ‖A Bᵀ‖²_F / (‖A Aᵀ‖_F ‖B Bᵀ‖_F) for two blocks of rows of `stacked` (count · n, D), in [0, 1].
/// It is the cosine of AᵀA and BᵀB, and linear CKA without centering (Kornblith et al. 2019). It is
/// 1 if AᵀA and BᵀB are equal up to a factor.
PairSimilarity block_similarity(MatrixView<const double> stacked, std::int64_t count,
                                const Compute& compute);

/// Value for independent Gaussian blocks (n, D): n / (n + D + 1), from the expectations of
/// numerator and denominator.
double expected_block_similarity(std::int64_t rows, std::int64_t width);

/// Cosines of pairs of rows.
PairSimilarity row_cosines(MatrixView<const double> rows);

// Routing statistics of a text.

/// Sums over the tokens of one layer; sums of two texts can be added.
struct RoutingCounts {
  std::int64_t experts = 0;  // E
  std::int64_t chosen = 0;   // k, per token
  std::int64_t tokens = 0;
  std::vector<std::int64_t> pairs;  // (E, E): tokens that selected both experts
  std::vector<double> weights;      // (k,): of the top expert, the second, …
  double entropy = 0;               // of the softmax of each token's logits, nats
  std::int64_t ties = 0;            // tokens for which another expert had an equal score

  void add(const RoutingCounts& other);
};

/// `logits` (rows, E); `chosen` and `weights` (rows, k), top expert first; `tied` (rows), 1 for
/// ties. `counted`: the rows to count; none: all.
RoutingCounts count_routing(MatrixView<const float> logits, std::span<const std::int64_t> chosen,
                            std::span<const float> weights, std::span<const std::uint8_t> tied,
                            const std::optional<std::vector<std::int64_t>>& counted = {});

struct RoutingMeasures {
  std::vector<double> load;      // (E,): shares of all selections
  double effective_experts = 0;  // exponential of the entropy of the load
  double largest_load = 0;
  double router_entropy = 0;         // mean over tokens, nats
  std::vector<double> mean_weights;  // (k,)
  std::vector<double> together;      // (E, E): share of tokens that selected both experts
  /// The pair of experts selected together most often, and its co-activation relative to
  /// independent selection. None if each token selects one expert.
  std::optional<std::vector<std::int64_t>> top_pair;
  std::optional<double> top_pair_lift;
};

RoutingMeasures measure_routing(const RoutingCounts& counts);

}  // namespace attnscope
