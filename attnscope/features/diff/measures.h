// How two spaces lie to each other. Source: Björck & Golub 1973.
#pragma once

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

struct SubspaceOverlap {
  /// The mean squared cosine of the principal angles: 1 where the smaller space lies in the other,
  /// 0 where they are orthogonal.
  double share = 0;
  double null = 0;   // what is expected of a random space: the larger dimension over that of all
  double angle = 0;  // the smallest principal angle, in degrees
};

/// Of the spaces that the orthonormal rows of `a` (r, n) and `b` (s, n) span; r, s at least 1.
SubspaceOverlap subspace_overlap(MatrixView<const double> a, MatrixView<const double> b,
                                 const Compute& compute = {});

}  // namespace attnscope
