// Products of float32 panels and their partition into registers. Compiled once per instruction set.
#if defined(ATTNSCOPE_NUMERICS_SVD_KERNELS_FLOAT32_PANELS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNSCOPE_NUMERICS_SVD_KERNELS_FLOAT32_PANELS_INL_H_
#undef ATTNSCOPE_NUMERICS_SVD_KERNELS_FLOAT32_PANELS_INL_H_
#else
#define ATTNSCOPE_NUMERICS_SVD_KERNELS_FLOAT32_PANELS_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <atomic>
#include <type_traits>

#include "attnscope/numerics/svd/kernels/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using FloatVector = hn::Vec<Floats>;

constexpr std::size_t kFloatLanes = hn::MaxLanes(Floats());
/// Registers per column and the maximum number of columns: as many sums as fit into registers
/// together with the operands.
constexpr std::size_t kFloatVectors = kFloatLanes >= 8 ? 2 : 4;
constexpr std::size_t kFloatColumns = kFloatLanes == 16 ? 8 : kFloatLanes == 8 ? 6 : 4;
constexpr std::size_t kFloatRows = kFloatVectors * kFloatLanes;
constexpr std::size_t kStrips = kSide / kFloatRows;
static_assert(kSide % kFloatRows == 0);

constexpr std::size_t kPair = 2 * kSide;  // columns of [V Z]
/// Number of products per float32 sum.
constexpr std::size_t kChain = 16;
/// Number of rows, in panels, that are summed in float32, and likewise columns.
constexpr std::size_t kSumPanels = 8;
constexpr std::size_t kSumColumns = kSumPanels * kSide;

/// A cache line in elements; the number of steps between prefetches, and of column groups that
/// prefetches are ahead.
constexpr std::size_t kLine = 64 / sizeof(float);
constexpr std::size_t kFetchUpdate = std::min<std::size_t>(4 * kStrips, 16);
constexpr std::size_t kFetchSum = std::min<std::size_t>(2 * kStrips, 16);
constexpr std::size_t kGroupsAhead = 2;

/// Memory layout of the two operands of a product, in elements.
struct FloatOperands {
  const float* left;         // (kSide, depth), columns kSide apart
  const float* right;        // (depth, columns)
  std::size_t right_depth;   // from one row to the next
  std::size_t right_column;  // from one column to the next
  const float* next;         // data of a later product: a line is prefetched every few steps
};

template <std::size_t kColumns>
using FloatSums = FloatVector[kColumns][kFloatVectors];

/// Calls work(first, std::integral_constant of the group size) for groups of `count` columns, a
/// multiple of 4: as many columns as fit into registers, or four if those do not divide them.
template <class Work>
HWY_INLINE void for_column_groups(std::size_t count, const Work& work) {
  constexpr std::size_t kRest = 4;
  for (std::size_t column = 0; column < count;) {
    if ((count - column) % kFloatColumns == 0) {
      work(column, std::integral_constant<std::size_t, kFloatColumns>());
      column += kFloatColumns;
    } else {
      work(column, std::integral_constant<std::size_t, kRest>());
      column += kRest;
    }
  }
}

/// Computes sums = left · right, with kDepth columns of left from column `first` on.
template <std::size_t kColumns, std::size_t kDepth, std::size_t kFetchEvery>
HWY_INLINE void multiply(const FloatOperands& in, std::size_t first, FloatSums<kColumns>& sums) {
  const Floats d;
  // Steps are unrolled: loop counters and prefetch tests would use issue slots that the products
  // need.
  constexpr std::size_t kSteps = std::min<std::size_t>(kDepth, 16);
  static_assert(kDepth % kSteps == 0 && kSteps % kFetchEvery == 0);
  const float* lines = in.left + first * kSide;
  const float* factors = in.right + first * in.right_depth;
  const float* next = in.next + first / kFetchEvery * kLine;
  // Otherwise GCC loads the factors shared by two products once, and keeps them on the stack.
  std::atomic_signal_fence(std::memory_order_acq_rel);
#pragma GCC unroll 8
  for (std::size_t column = 0; column < kColumns; ++column) {
#pragma GCC unroll 8
    for (std::size_t part = 0; part < kFloatVectors; ++part) sums[column][part] = hn::Zero(d);
  }
  for (std::size_t done = 0; done < kDepth; done += kSteps) {
#pragma GCC unroll 16
    for (std::size_t k = 0; k < kSteps; ++k) {
      if (k % kFetchEvery == 0) hwy::Prefetch(next + k / kFetchEvery * kLine);
      FloatVector left[kFloatVectors];
#pragma GCC unroll 8
      for (std::size_t part = 0; part < kFloatVectors; ++part) {
        left[part] = hn::LoadU(d, lines + k * kSide + part * kFloatLanes);
      }
#pragma GCC unroll 8
      for (std::size_t column = 0; column < kColumns; ++column) {
        const FloatVector right =
            hn::Set(d, factors[k * in.right_depth + column * in.right_column]);
#pragma GCC unroll 8
        for (std::size_t part = 0; part < kFloatVectors; ++part) {
          sums[column][part] = hn::MulAdd(left[part], right, sums[column][part]);
        }
      }
    }
    lines += kSteps * kSide;
    factors += kSteps * in.right_depth;
    next += kSteps / kFetchEvery * kLine;
  }
}

/// Subtracts left · right, of depth kPair, from out (kSide, kColumns; columns kSide apart).
template <std::size_t kColumns>
HWY_INLINE void subtract_product(FloatOperands in, float* HWY_RESTRICT out) {
  const Floats d;
  for (std::size_t row = 0; row < kSide; row += kFloatRows) {
    FloatSums<kColumns> sums;
    multiply<kColumns, kPair, kFetchUpdate>(in, 0, sums);
#pragma GCC unroll 8
    for (std::size_t column = 0; column < kColumns; ++column) {
#pragma GCC unroll 8
      for (std::size_t part = 0; part < kFloatVectors; ++part) {
        float* at = out + column * kSide + row + part * kFloatLanes;
        hn::StoreU(hn::Sub(hn::LoadU(d, at), sums[column][part]), d, at);
      }
    }
    in.left += kFloatRows;
    in.next += kPair / kFetchUpdate * kLine;
  }
}

/// Adds left · right, of depth kDepth, to out (kSide, kColumns; columns kSide apart), in chains of
/// kChain products. Chains are added in memory, because registers for both sums would be spilled.
template <std::size_t kColumns, std::size_t kDepth>
HWY_INLINE void add_product(FloatOperands in, float* HWY_RESTRICT out) {
  const Floats d;
  for (std::size_t row = 0; row < kSide; row += kFloatRows) {
    for (std::size_t first = 0; first < kDepth; first += kChain) {
      FloatSums<kColumns> sums;
      multiply<kColumns, kChain, kFetchSum>(in, first, sums);
#pragma GCC unroll 8
      for (std::size_t column = 0; column < kColumns; ++column) {
#pragma GCC unroll 8
        for (std::size_t part = 0; part < kFloatVectors; ++part) {
          float* at = out + column * kSide + row + part * kFloatLanes;
          hn::StoreU(hn::Add(hn::LoadU(d, at), sums[column][part]), d, at);
        }
      }
    }
    in.left += kFloatRows;
    in.next += kDepth / kFetchSum * kLine;
  }
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
