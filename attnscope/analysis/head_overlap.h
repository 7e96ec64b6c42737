// How far the heads of one projection read the same directions. Definition: docs/metrics.md.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/core/matrix_view.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/numerics/singular_values/singular_values.h"
#include "attnscope/results/record.h"

namespace attnscope {

struct HeadOverlap {
  /// (H, H), symmetric: ‖U_aᵀ U_b‖_F² / min(rank a, rank b), U an orthonormal basis of a head's row
  /// space: the mean cos² of the principal angles between the two. 1 for equal spaces, 0 for
  /// orthogonal ones; NaN where a head is zero. Björck & Golub 1973.
  Matrix<double> overlap;
  std::vector<std::int64_t> ranks;  // of each head: pivots above max(d, D) ε of the first
};

/// Of `matrix`, (H head_rows, D), finite. ε is 2^-23, or 2^-52 if the matrix is made of float64
/// numbers.
template <class T>
HeadOverlap head_overlap(MatrixView<const T> matrix, std::int64_t head_rows,
                         Resolution resolution = Resolution::float32, const Compute& compute = {});

/// The fields of a row after its ids: overlap and ranks.
Record overlap_fields(const HeadOverlap& measured);

}  // namespace attnscope
