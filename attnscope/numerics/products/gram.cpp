#include "attnscope/numerics/products/gram.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attnscope/numerics/aligned_buffer.h"
#include "attnscope/numerics/lapack/lapack.h"
#include "attnscope/numerics/products/kernels/kernels.h"

namespace attnscope {
namespace {

using kernels::kTile;

/// Block size along the long side for conversion to float64: large enough for BLAS to run at full
/// speed, small compared with the Gram matrix.
constexpr std::int64_t kGramBlock = 256;
/// Minimum rows of tiles per thread.
constexpr std::size_t kPanelsPerPart = 8;

}  // namespace

template <class T>
double largest_magnitude(MatrixView<const T> matrix, const Compute& compute) {
  if (compute.kernels.available()) {
    return static_cast<double>(kernels::largest_magnitude(compute.kernels, matrix));
  }
  T largest = 0;
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t col = 0; col < matrix.cols; ++col) {
      largest = std::max(largest, std::abs(matrix(row, col)));
    }
  }
  return static_cast<double>(largest);
}

int scale_exponent(double largest_magnitude) {
  int exponent = 0;
  std::frexp(largest_magnitude, &exponent);
  return std::max(exponent, std::numeric_limits<double>::min_exponent);
}

template <class T>
std::vector<double> plain_gram_lower(const ColumnSource<T>& a, double scale,
                                     const Compute& compute) {
  const std::int64_t n = a.rows();
  std::vector<double> gram(static_cast<std::size_t>(n * n), 0.0);
  std::vector<double> block(static_cast<std::size_t>(n * std::min(kGramBlock, a.cols())));
  for (std::int64_t first = 0; first < a.cols(); first += kGramBlock) {
    compute.check_stop();
    const std::int64_t count = std::min(kGramBlock, a.cols() - first);
    const MatrixView<const T> part = a.columns(first, count);
    const auto packing = part.col_stride == 1 ? lapack::Packing::rows : lapack::Packing::columns;
    const MatrixView<const T> lines = packing == lapack::Packing::rows ? part : part.transposed();
    double* out = block.data();
    for (std::int64_t line = 0; line < lines.rows; ++line) {
      for (std::int64_t at = 0; at < lines.cols; ++at) {
        *out++ = scale * static_cast<double>(lines(line, at));
      }
    }
    lapack::add_gram(n, count, block.data(), packing, gram.data());
  }
  return gram;
}

double* zero_triangle(std::size_t tiles) {
  // Scratch memory of the thread; it does not affect results.
  thread_local AlignedBuffer<double> memory;
  const std::size_t size = kernels::triangle_size(tiles);
  double* triangle = memory.reserve(size);
  std::fill(triangle, triangle + size, 0.0);
  return triangle;
}

template <class T>
double* gram_tiles(const ColumnSource<T>& a, double scale, const Compute& compute, bool lower) {
  thread_local AlignedBuffer<double> packed_memory;
  const auto n = static_cast<std::size_t>(a.rows()), depth = static_cast<std::size_t>(a.cols());
  const std::size_t tiles = (n + kTile - 1) / kTile;
  const std::size_t parts = (tiles + kPanelsPerPart - 1) / kPanelsPerPart;
  double* packed = packed_memory.reserve(tiles * kTile * std::min(depth, kernels::kGramDepth));
  double* triangle = zero_triangle(tiles);
  for (std::size_t first = 0; first < depth; first += kernels::kGramDepth) {
    const std::size_t count = std::min(kernels::kGramDepth, depth - first);
    const auto columns =
        a.columns(static_cast<std::int64_t>(first), static_cast<std::int64_t>(count));
    run_parts(compute, parts, [&](std::size_t part) {
      kernels::pack_panels(compute.kernels, columns, scale, part * kPanelsPerPart,
                           std::min((part + 1) * kPanelsPerPart, tiles), packed);
    });
    run_parts(compute, parts, [&](std::size_t part) {
      const std::size_t panels = (parts - 1 - part) * kPanelsPerPart;  // longest first
      const auto filled = lower ? 1 - static_cast<std::ptrdiff_t>(first) : kernels::kFilled;
      kernels::add_tile_products(compute.kernels, packed, count, panels,
                                 std::min(panels + kPanelsPerPart, tiles), triangle, filled);
    });
  }
  return triangle;
}

template <class T>
std::vector<double> gram_lower(MatrixView<const T> a, double scale, const Compute& compute) {
  if (!compute.kernels.available()) return plain_gram_lower(ColumnSource<T>(a), scale, compute);
  const auto n = static_cast<std::size_t>(a.rows);
  std::vector<double> lower(n * n, 0.0);
  if (n <= kernels::kFewRows && a.col_stride == 1) {
    thread_local AlignedBuffer<double> scratch;
    kernels::gram_of_few_rows(compute.kernels, a, scale,
                              scratch.reserve(kernels::few_rows_scratch(n)), lower.data());
    return lower;
  }
  const double* triangle = gram_tiles(ColumnSource<T>(a), scale, compute);
  for (std::size_t col = 0; col < n; ++col) {
    for (std::size_t panel = col / kTile; panel * kTile < n; ++panel) {
      const double* tile_column = triangle + kernels::panel_offset(panel) + col * kTile;
      const std::size_t first = std::max(col, panel * kTile);
      const std::size_t last = std::min(n, (panel + 1) * kTile);
      std::copy(tile_column + (first - panel * kTile), tile_column + (last - panel * kTile),
                lower.begin() + static_cast<std::ptrdiff_t>(col * n + first));
    }
  }
  return lower;
}

template double largest_magnitude(MatrixView<const float>, const Compute&);
template double largest_magnitude(MatrixView<const double>, const Compute&);
template std::vector<double> gram_lower(MatrixView<const float>, double, const Compute&);
template std::vector<double> gram_lower(MatrixView<const double>, double, const Compute&);
template std::vector<double> plain_gram_lower(const ColumnSource<float>&, double, const Compute&);
template std::vector<double> plain_gram_lower(const ColumnSource<double>&, double, const Compute&);
template double* gram_tiles(const ColumnSource<float>&, double, const Compute&, bool);
template double* gram_tiles(const ColumnSource<double>&, double, const Compute&, bool);

}  // namespace attnscope
