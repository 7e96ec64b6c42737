// Products of matrices that a run itself has made.
#pragma once

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// out = x · rowsᵀ, whose shape it takes.
void multiply_rows(MatrixView<const float> x, MatrixView<const float> rows, Matrix<float>& out,
                   const Compute& compute);

}  // namespace attnscope
