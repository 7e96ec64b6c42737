// Finds the strongest token pairs of a head without computing the products of all pairs.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

struct RowPair {
  std::int64_t a = 0, b = 0;  // row indices
  double score = 0;           // dot product
};

/// Returns the `count` pairs of a row of a (m, d) and a row of b (n, d) with the largest dot
/// products, largest first, ties by index. Exact: rows are visited by decreasing norm, block by
/// block, until the norms cannot exceed the smallest result.
std::vector<RowPair> top_pairs(MatrixView<const double> a, MatrixView<const double> b,
                               std::int64_t count, const Compute& compute);

}  // namespace attnscope
