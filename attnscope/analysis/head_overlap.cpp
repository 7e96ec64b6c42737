#include "attnscope/analysis/head_overlap.h"

#include <algorithm>
#include <limits>

#include "attnscope/numerics/products/dense_products.h"

namespace attnscope {
namespace {

template <class T>
Matrix<double> to_float64(MatrixView<const T> matrix) {
  Matrix<double> out(matrix.rows, matrix.cols);
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t col = 0; col < matrix.cols; ++col) {
      out(row, col) = static_cast<double>(matrix(row, col));
    }
  }
  return out;
}

}  // namespace

template <class T>
HeadOverlap head_overlap(MatrixView<const T> matrix, std::int64_t head_rows, Resolution resolution,
                         const Compute& compute) {
  const std::int64_t heads = matrix.rows / head_rows;
  const double tolerance = static_cast<double>(std::max(head_rows, matrix.cols)) *
                           (resolution == Resolution::float64 ? 0x1p-52 : 0x1p-23);
  HeadOverlap out{.overlap = Matrix<double>(heads, heads)};
  // The bases one under the other, so that one head meets all later ones in one product.
  Matrix<double> bases(matrix.rows, matrix.cols);
  std::vector<std::int64_t> starts = {0};
  for (std::int64_t head = 0; head < heads; ++head) {
    const Matrix<double> basis = row_space_basis(
        to_float64(matrix.row_block(head * head_rows, head_rows)).view(), tolerance, compute);
    std::copy_n(basis.data(), basis.rows() * basis.cols(),
                bases.data() + starts.back() * matrix.cols);
    out.ranks.push_back(basis.rows());
    starts.push_back(starts.back() + basis.rows());
  }
  std::fill_n(out.overlap.data(), heads * heads, std::numeric_limits<double>::quiet_NaN());
  const MatrixView<const double> all = bases.view();
  for (std::int64_t a = 0; a < heads; ++a) {
    const std::int64_t rank = out.ranks[static_cast<std::size_t>(a)];
    if (rank == 0) continue;
    out.overlap(a, a) = 1;
    const std::int64_t start = starts[static_cast<std::size_t>(a)], next = start + rank;
    if (next == starts.back()) continue;
    const Matrix<double> products = multiply_transposed(
        all.row_block(start, rank), all.row_block(next, starts.back() - next), compute);
    for (std::int64_t b = a + 1; b < heads; ++b) {
      const std::int64_t other = out.ranks[static_cast<std::size_t>(b)];
      if (other == 0) continue;
      const auto block =
          products.view().col_block(starts[static_cast<std::size_t>(b)] - next, other);
      double squares = 0;
      for (std::int64_t row = 0; row < block.rows; ++row) {
        for (std::int64_t col = 0; col < block.cols; ++col) {
          squares += block(row, col) * block(row, col);
        }
      }
      out.overlap(a, b) = out.overlap(b, a) =
          std::min(squares / static_cast<double>(std::min(rank, other)), 1.0);
    }
  }
  return out;
}

Record overlap_fields(const HeadOverlap& measured) {
  const std::int64_t heads = measured.overlap.rows();
  const double* first = measured.overlap.data();
  return {{"overlap", Array{{heads, heads}, std::vector<double>(first, first + heads * heads)}},
          {"ranks", measured.ranks}};
}

template HeadOverlap head_overlap(MatrixView<const float>, std::int64_t, Resolution,
                                  const Compute&);
template HeadOverlap head_overlap(MatrixView<const double>, std::int64_t, Resolution,
                                  const Compute&);

}  // namespace attnscope
