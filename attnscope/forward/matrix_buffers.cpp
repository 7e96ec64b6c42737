#include "attnscope/forward/matrix_buffers.h"

#include "attnscope/numerics/inference/linear.h"

namespace attnscope {

void multiply_rows(MatrixView<const float> x, MatrixView<const float> rows, Matrix<float>& out,
                   const Compute& compute) {
  if (out.rows() != x.rows || out.cols() != rows.rows) out = Matrix<float>(x.rows, rows.rows);
  apply_linear(x, LinearWeights(rows, /*packed=*/false, compute), {}, out.view(), compute);
}

}  // namespace attnscope
