// The product in all dense kernels: a strip of rows in registers times broadcast numbers. Compiled
// once per instruction set.
#if defined(ATTNSCOPE_NUMERICS_KERNELS_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNSCOPE_NUMERICS_KERNELS_TILES_INL_H_
#undef ATTNSCOPE_NUMERICS_KERNELS_TILES_INL_H_
#else
#define ATTNSCOPE_NUMERICS_KERNELS_TILES_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstddef>

#include "attnscope/numerics/kernels/tiles.h"
#include "attnscope/numerics/kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

/// Registers per column and columns of a strip, for tiles of width `kWidth`: as many sums as fit
/// into the register file.
template <std::size_t kWidth>
struct Strip {
  static constexpr std::size_t kVectors = kLanes == 8 ? 3 : kLanes == 4 ? 2 : 4;
  static constexpr std::size_t kColumns = kLanes == 8 ? 8 : 6;
  static constexpr std::size_t kRows = kVectors * kLanes;
  static_assert(kWidth % kRows == 0 && kWidth % kColumns == 0);
};
template <>
struct Strip<32> {
  static constexpr std::size_t kVectors = kLanes == 4 ? 2 : 4;
  static constexpr std::size_t kColumns = 4;
  static constexpr std::size_t kRows = kVectors * kLanes;
};
constexpr std::size_t kColumns = Strip<kTile>::kColumns;

/// The memory layout of a product's two operands, in elements.
struct Operands {
  const double* left;        // (rows, depth): rows of a column are contiguous
  std::size_t left_step;     // from one column to the next
  const double* right;       // (depth, columns)
  std::size_t right_depth;   // from one row to the next
  std::size_t right_column;  // from one column to the next
  std::size_t depth;
  const double* next = nullptr;  // data of a later product: a line is prefetched every few steps
};

/// Adds left · right to a strip of out (columns out_step apart), or subtracts it. The product is
/// summed from zero and then added, which keeps long sums accurate. With kFetchEvery, the depth
/// must be a multiple of 8.
template <bool kSubtract, std::size_t kWidth, std::size_t kFetchEvery = 0>
HWY_INLINE void multiply_strip(const Operands& in, double* HWY_RESTRICT out, std::size_t out_step) {
  constexpr std::size_t kStripVectors = Strip<kWidth>::kVectors;
  constexpr std::size_t kStripColumns = Strip<kWidth>::kColumns;
  const Doubles d;
  Vector sums[kStripColumns][kStripVectors];
#pragma GCC unroll 8
  for (std::size_t column = 0; column < kStripColumns; ++column) {
#pragma GCC unroll 8
    for (std::size_t part = 0; part < kStripVectors; ++part) sums[column][part] = hn::Zero(d);
  }
  const double *lines = in.left, *factors = in.right, *next = in.next;
  const auto add_step = [&](std::size_t k) HWY_ATTR {
    Vector left[kStripVectors];
#pragma GCC unroll 8
    for (std::size_t part = 0; part < kStripVectors; ++part) {
      left[part] = hn::LoadU(d, lines + k * in.left_step + part * kLanes);
    }
#pragma GCC unroll 8
    for (std::size_t column = 0; column < kStripColumns; ++column) {
      const Vector right = hn::Set(d, factors[k * in.right_depth + column * in.right_column]);
#pragma GCC unroll 8
      for (std::size_t part = 0; part < kStripVectors; ++part) {
        sums[column][part] = hn::MulAdd(left[part], right, sums[column][part]);
      }
    }
  };
  if constexpr (kFetchEvery > 0) {
    // Unrolled, because a test in each step would slow down the products.
    constexpr std::size_t kSteps = 8;
    static_assert(kSteps % kFetchEvery == 0);
    for (std::size_t done = 0; done < in.depth; done += kSteps) {
#pragma GCC unroll 8
      for (std::size_t k = 0; k < kSteps; ++k) {
        if (k % kFetchEvery == 0) hwy::Prefetch(next + k / kFetchEvery * 8);
        add_step(k);
      }
      lines += kSteps * in.left_step;
      factors += kSteps * in.right_depth;
      next += kSteps / kFetchEvery * 8;
    }
  } else {
#pragma GCC unroll 4
    for (std::size_t k = 0; k < in.depth; ++k) add_step(k);
  }
#pragma GCC unroll 8
  for (std::size_t column = 0; column < kStripColumns; ++column) {
#pragma GCC unroll 8
    for (std::size_t part = 0; part < kStripVectors; ++part) {
      double* at = out + column * out_step + part * kLanes;
      const Vector old = hn::LoadU(d, at);
      hn::StoreU(kSubtract ? hn::Sub(old, sums[column][part]) : hn::Add(old, sums[column][part]), d,
                 at);
    }
  }
}

/// Does the same for kWidth rows.
template <bool kSubtract, std::size_t kWidth = kTile, std::size_t kFetchEvery = 0>
HWY_INLINE void multiply_rows(Operands in, double* out, std::size_t out_step) {
  constexpr std::size_t kStripRows = Strip<kWidth>::kRows;
  for (std::size_t row = 0; row < kWidth; row += kStripRows) {
    multiply_strip<kSubtract, kWidth, kFetchEvery>(in, out + row, out_step);
    in.left += kStripRows;
  }
}

/// Does the same for a whole tile: kWidth rows and columns.
template <bool kSubtract, std::size_t kWidth = kTile>
HWY_INLINE void multiply_tile(Operands in, double* out, std::size_t out_step) {
  constexpr std::size_t kStripColumns = Strip<kWidth>::kColumns;
  for (std::size_t column = 0; column < kWidth; column += kStripColumns) {
    multiply_rows<kSubtract, kWidth>(in, out + column * out_step, out_step);
    in.right += kStripColumns * in.right_column;
  }
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
