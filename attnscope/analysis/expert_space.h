// What the experts of a layer have in common, whatever the order of their neurons.
#pragma once

#include <cstdint>

#include "attnscope/core/matrix_view.h"
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

}  // namespace attnscope
