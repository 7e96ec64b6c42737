#include "attnscope/numerics/products/packed_product.h"

#include <algorithm>

#include "attnscope/numerics/products/dense_products.h"
#include "attnscope/numerics/products/kernels/kernels.h"

namespace attnscope {
namespace {

using kernels::kProductPanels;
using kernels::kTile;
using kernels::kTileSize;

std::size_t panels_of(std::int64_t rows) {
  return (static_cast<std::size_t>(rows) + kTile - 1) / kTile;
}

/// Copies rows of the product from the tiles (kTile, kTile; column-major) of `panels` panels.
void unpack(const double* tiles, std::size_t panels, std::size_t first_panel,
            MatrixView<double> out) {
  const auto rows = static_cast<std::size_t>(out.rows);
  const auto cols = static_cast<std::size_t>(out.cols);
  for (std::size_t panel = 0; panel < panels; ++panel) {
    const std::size_t first = (first_panel + panel) * kTile;
    const std::size_t filled = std::min(kTile, rows - first);
    for (std::size_t col = 0; col < cols; col += kTile) {
      const double* tile = tiles + (col / kTile * panels + panel) * kTileSize;
      const std::size_t width = std::min(kTile, cols - col);
      for (std::size_t row = 0; row < filled; ++row) {
        double* line = &out(static_cast<std::int64_t>(first + row), static_cast<std::int64_t>(col));
        for (std::size_t at = 0; at < width; ++at) line[at] = tile[at * kTile + row];
      }
    }
  }
}

}  // namespace

PackedMatrix::PackedMatrix(MatrixView<const double> matrix, const Compute& compute) {
  assign(matrix, compute);
}

PackedMatrix::PackedMatrix(std::int64_t rows, std::int64_t cols, const Compute& compute) {
  reserve(rows, cols, compute);
}

void PackedMatrix::assign(MatrixView<const double> matrix, const Compute& compute) {
  reserve(matrix.rows, matrix.cols, compute);
  set_rows(0, matrix, compute);
}

void PackedMatrix::reserve(std::int64_t rows, std::int64_t cols, const Compute& compute) {
  static_assert(kRowStep == kTile);
  rows_ = rows;
  cols_ = cols;
  if (compute.kernels.available()) {
    panels_.reserve(packed_size());
    return;
  }
  // Padded with zeros like panels, because BLAS sums the last rows of other shapes in another
  // order.
  plain_ = Matrix<double>(static_cast<std::int64_t>(panels_of(rows_) * kTile), cols_);
  std::fill(plain_.data() + rows_ * cols_, plain_.data() + plain_.rows() * cols_, 0.0);
}

std::size_t PackedMatrix::packed_size() const {
  return panels_of(rows_) * kTile * static_cast<std::size_t>(cols_);
}

void PackedMatrix::set_rows(std::int64_t first, MatrixView<const double> rows,
                            const Compute& compute) {
  if (compute.kernels.available()) {
    double* packed = panels_.reserve(packed_size()) + first * cols_;  // keeps the contents
    kernels::pack_panels(compute.kernels, rows, 1, 0, panels_of(rows.rows), packed);
    return;
  }
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    for (std::int64_t col = 0; col < cols_; ++col) plain_(first + row, col) = rows(row, col);
  }
}

Matrix<double> multiply_transposed(const PackedMatrix& a, const PackedMatrix& b,
                                   const Compute& compute) {
  Matrix<double> out(a.rows(), b.rows());
  multiply_transposed_rows(a, 0, b, out.view(), compute);
  return out;
}

void multiply_transposed_rows(const PackedMatrix& a, std::int64_t first, const PackedMatrix& b,
                              MatrixView<double> out, const Compute& compute) {
  const std::size_t panels = panels_of(out.rows), tiles = panels_of(b.rows_);
  if (!compute.kernels.available()) {
    const auto filled_rows = static_cast<std::int64_t>(panels * kTile);
    const Matrix<double> filled = multiply_transposed(a.plain_.view().row_block(first, filled_rows),
                                                      b.plain_.view(), compute);
    for (std::int64_t row = 0; row < out.rows; ++row) {
      std::copy_n(&filled(row, 0), b.rows_, &out(row, 0));
    }
    return;
  }
  const auto depth = static_cast<std::size_t>(a.cols_);
  const double *left = a.panels_.data() + first * a.cols_, *right = b.panels_.data();
  run_parts(compute, (panels + kProductPanels - 1) / kProductPanels, [&](std::size_t part) {
    thread_local AlignedBuffer<double> memory;
    const std::size_t first_panel = part * kProductPanels;
    const std::size_t panel_count = std::min(kProductPanels, panels - first_panel);
    double* product = memory.reserve(kProductPanels * tiles * kTileSize);
    kernels::multiply_panels(compute.kernels, left + first_panel * depth * kTile, panel_count,
                             right, tiles, depth, product);
    unpack(product, panel_count, first_panel, out);
  });
}

}  // namespace attnscope
