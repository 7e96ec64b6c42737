// The pairs of tokens that a head joins most strongly, found without the product of all pairs.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

struct RowPair {
  std::int64_t a = 0, b = 0;  // rows
  double score = 0;           // their product
};

/// The `count` pairs of a row of a (m, d) and one of b (n, d) with the largest products, the
/// largest first, of equal ones that with the smaller rows. Exact: rows are visited by their
/// lengths, block by block, until lengths cannot reach the last of the best.
std::vector<RowPair> top_pairs(MatrixView<const double> a, MatrixView<const double> b,
                               std::int64_t count, const Compute& compute);

}  // namespace attnscope
