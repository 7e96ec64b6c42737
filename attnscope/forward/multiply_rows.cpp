#include "attnscope/forward/multiply_rows.h"

#include <span>

#include "attnscope/numerics/inference/linear.h"
#include "attnscope/tensor/tensor_matrix.h"

namespace attnscope {

void multiply_rows(MatrixView<const float> x, MatrixView<const float> rows, Matrix<float>& out,
                   const Compute& compute) {
  if (out.rows() != x.rows || out.cols() != rows.rows) out = Matrix<float>(x.rows, rows.rows);
  const auto elements = static_cast<std::size_t>((rows.rows - 1) * rows.row_stride + rows.cols);
  const TensorView view{.dtype = DType::f32,
                        .shape = {rows.rows, rows.cols},
                        .bytes = std::as_bytes(std::span(rows.data, elements)),
                        .strides = {rows.row_stride, 1}};
  apply_linear(x, LinearWeights({whole_matrix(view)}, /*packed=*/false, compute), {}, out.view(),
               compute);
}

}  // namespace attnscope
