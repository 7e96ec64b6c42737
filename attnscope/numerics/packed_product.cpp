#include "attnscope/numerics/packed_product.h"

#include <algorithm>

#include "attnscope/numerics/kernels/product.h"
#include "attnscope/numerics/kernels/tile_products.h"
#include "attnscope/numerics/products.h"

namespace attnscope {
namespace {

using kernels::kProductPanels;
using kernels::kTile;
using kernels::kTileSize;

std::size_t panels_of(std::int64_t rows) {
  return (static_cast<std::size_t>(rows) + kTile - 1) / kTile;
}

/// Rows of the product from the tiles (kTile, kTile; column-major) of `panels` panels.
void unpack(const double* tiles, std::size_t panels, std::size_t first_panel, Matrix<double>& out) {
  const auto rows = static_cast<std::size_t>(out.rows());
  const auto cols = static_cast<std::size_t>(out.cols());
  for (std::size_t panel = 0; panel < panels; ++panel) {
    const std::size_t first = (first_panel + panel) * kTile;
    const std::size_t filled = std::min(kTile, rows - first);
    for (std::size_t col = 0; col < cols; col += kTile) {
      const double* tile = tiles + (col / kTile * panels + panel) * kTileSize;
      const std::size_t width = std::min(kTile, cols - col);
      for (std::size_t row = 0; row < filled; ++row) {
        double* line = out.data() + (first + row) * cols + col;
        for (std::size_t at = 0; at < width; ++at) line[at] = tile[at * kTile + row];
      }
    }
  }
}

}  // namespace

PackedMatrix::PackedMatrix(MatrixView<const double> matrix, const Compute& compute)
    : rows_(matrix.rows), cols_(matrix.cols) {
  const std::size_t panels = panels_of(rows_);
  if (compute.kernels.available()) {
    double* packed = panels_.reserve(panels * kTile * static_cast<std::size_t>(cols_));
    kernels::pack_panels(compute.kernels, matrix, 1, 0, panels, packed);
    return;
  }
  // Filled up with zeros as panels are: BLAS sums the last rows of other shapes in another order.
  plain_ = Matrix<double>(static_cast<std::int64_t>(panels * kTile), cols_);
  std::fill_n(plain_.data(), plain_.rows() * cols_, 0.0);
  for (std::int64_t row = 0; row < rows_; ++row) {
    for (std::int64_t col = 0; col < cols_; ++col) plain_(row, col) = matrix(row, col);
  }
}

Matrix<double> multiply_transposed(const PackedMatrix& a, const PackedMatrix& b,
                                   const Compute& compute) {
  if (!compute.kernels.available()) {
    const Matrix<double> filled = multiply_transposed(a.plain_.view(), b.plain_.view(), compute);
    Matrix<double> out(a.rows_, b.rows_);
    for (std::int64_t row = 0; row < a.rows_; ++row) {
      std::copy_n(&filled(row, 0), b.rows_, &out(row, 0));
    }
    return out;
  }
  Matrix<double> out(a.rows_, b.rows_);
  const std::size_t panels = panels_of(a.rows_), tiles = panels_of(b.rows_);
  const auto depth = static_cast<std::size_t>(a.cols_);
  const double *left = a.panels_.data(), *right = b.panels_.data();
  run_parts(compute, (panels + kProductPanels - 1) / kProductPanels, [&](std::size_t part) {
    thread_local AlignedBuffer<double> memory;
    const std::size_t first = part * kProductPanels;
    const std::size_t count = std::min(kProductPanels, panels - first);
    double* product = memory.reserve(kProductPanels * tiles * kTileSize);
    kernels::multiply_panels(compute.kernels, left + first * depth * kTile, count, right, tiles,
                             depth, product);
    unpack(product, count, first, out);
  });
  return out;
}

}  // namespace attnscope
