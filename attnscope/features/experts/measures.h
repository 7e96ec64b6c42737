// What the experts of a layer have in common, whatever the order of their neurons.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// Over all pairs of experts; nothing of a single one.
struct PairSimilarity {
  double mean = 0, least = 0, most = 0;
};

/// ‖A Bᵀ‖²_F / (‖A Aᵀ‖_F ‖B Bᵀ‖_F) of two blocks of rows of `stacked` (count · n, D), in [0, 1]: 1
/// where AᵀA and BᵀB are the same but for a factor. It is the cosine of those two, and linear CKA
/// without centring (Kornblith et al. 2019).
PairSimilarity block_similarity(MatrixView<const double> stacked, std::int64_t count,
                                const Compute& compute);

/// What independent Gaussian blocks (n, D) come to: n / (n + D + 1), by expectations of numerator
/// and denominator.
double expected_block_similarity(std::int64_t rows, std::int64_t width);

/// Cosines of pairs of rows.
PairSimilarity row_cosines(MatrixView<const double> rows);

// Where a router sends the tokens of a text, counted.

/// Sums over tokens, of one layer; those of two texts can be added.
struct RoutingCounts {
  std::int64_t experts = 0;  // E
  std::int64_t chosen = 0;   // k, of each token
  std::int64_t tokens = 0;
  std::vector<std::int64_t> pairs;  // (E, E): tokens that chose both; on the diagonal, that one
  std::vector<double> weights;      // (k,): of the best, the second, …
  double entropy = 0;               // of the softmax of each token's logits, nats
  std::int64_t ties = 0;            // tokens for which another choice was as good

  void add(const RoutingCounts& other);
};

/// `logits` (rows, E); `chosen` and `weights` (rows, k), the best first; `tied` (rows), 1 for ties.
/// `counted`: the rows that count; none: all.
RoutingCounts count_routing(MatrixView<const float> logits, std::span<const std::int64_t> chosen,
                            std::span<const float> weights, std::span<const std::uint8_t> tied,
                            const std::optional<std::vector<std::int64_t>>& counted = {});

struct RoutingMeasures {
  std::vector<double> load;      // (E,): shares of all choices
  double effective_experts = 0;  // e to the entropy of the load
  double largest_load = 0;
  double router_entropy = 0;         // mean over tokens, nats
  std::vector<double> mean_weights;  // (k,)
  std::vector<double> together;      // (E, E): share of tokens that chose both
  /// The two that most tokens chose both, and how many times as many as if independent; none where
  /// tokens choose one.
  std::optional<std::vector<std::int64_t>> top_pair;
  std::optional<double> top_pair_lift;
};

RoutingMeasures measure_routing(const RoutingCounts& counts);

}  // namespace attnscope
