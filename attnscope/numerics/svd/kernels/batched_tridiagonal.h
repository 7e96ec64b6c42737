// Many small matrices at the same time: their Gram matrices, reduced to tridiagonal form.
#pragma once

#include <cstddef>
#include <span>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/kernel_choice.h"

namespace attnscope::kernels {

/// Small matrices are processed lanes() at a time, one in each lane of every register, so that no
/// step needs a sum across lanes. Their order is a multiple of kBlock, padded with zeros.
std::size_t lanes(Kernels kernels);
inline constexpr std::size_t kBlock = 4;

/// Rows of a matrix, (order, order): block b of kBlock rows at row_block_offset, as
/// [column][kBlock][lanes]. A lower triangular matrix keeps (b + 1) * kBlock columns of block b.
inline constexpr std::size_t row_block_offset(std::size_t block, std::size_t order, bool lower) {
  const std::size_t columns_before = lower ? kBlock * block * (block + 1) / 2 : block * order;
  return columns_before * kBlock;  // times lanes()
}

/// Lower triangle of a symmetric matrix of that order: block b of kBlock columns at
/// column_block_offset, rows b * kBlock … order − 1, as [row][kBlock][lanes]; the square block on
/// the diagonal is stored completely.
inline constexpr std::size_t column_block_offset(std::size_t block, std::size_t order) {
  // Blocks before it have order, order − kBlock, … rows.
  return kBlock * (block * order - kBlock * (block * (block - 1) / 2));  // times lanes()
}

/// The largest magnitudes at or below the diagonal of a matrix of finite elements, and above it.
struct Extents {
  double below, above;
};
Extents extents(Kernels kernels, MatrixView<const float> matrix);
Extents extents(Kernels kernels, MatrixView<const double> matrix);

/// Interleaves one row of up to lanes() matrices: `columns` elements from each line, times its
/// scale. `out` is the row's start in its block. Lanes without a line become zero.
void interleave_row(Kernels kernels, std::span<const float* const> lines, const double* scales,
                    std::size_t columns, double* out);
void interleave_row(Kernels kernels, std::span<const double* const> lines, const double* scales,
                    std::size_t columns, double* out);

/// triangle = rows · rowsᵀ, for lanes() matrices.
void batched_gram(Kernels kernels, const double* rows, std::size_t order, bool lower,
                  double* triangle);

/// triangle (destroyed) → tridiagonal: diagonal and off_diagonal (order, lanes). Elements at most
/// about 1 in magnitude; couplings below 1e-20 count as zero. work: (kBlockWork * order, lanes).
inline constexpr std::size_t kBlockWork = 4 * kBlock + 2;
void batched_tridiagonal(Kernels kernels, double* triangle, std::size_t order, double* work,
                         double* diagonal, double* off_diagonal);

}  // namespace attnscope::kernels
