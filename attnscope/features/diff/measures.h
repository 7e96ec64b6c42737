// Overlap of two subspaces. Source: Björck & Golub 1973.
#pragma once

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

struct SubspaceOverlap {
  /// Mean squared cosine of the principal angles: 1 if the smaller space lies inside the other, 0
  /// if they are orthogonal.
  double share = 0;
  double null = 0;   // expected for a random space: larger dimension / dimension of the whole space
  double angle = 0;  // smallest principal angle, in degrees
};

/// Overlap of the row spaces of `a` (r, n) and `b` (s, n), which have orthonormal rows; r, s ≥ 1.
SubspaceOverlap subspace_overlap(MatrixView<const double> a, MatrixView<const double> b,
                                 const Compute& compute = {});

}  // namespace attnscope
