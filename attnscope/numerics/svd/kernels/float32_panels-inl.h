// Products of float32 panels, and how they are split over registers. Compiled once per instruction
// set.
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
/// Registers down a strip, and the most columns beside each other: as many sums as the registers
/// hold beside the operands.
constexpr std::size_t kFloatVectors = kFloatLanes >= 8 ? 2 : 4;
constexpr std::size_t kFloatColumns = kFloatLanes == 16 ? 8 : kFloatLanes == 8 ? 6 : 4;
constexpr std::size_t kFloatRows = kFloatVectors * kFloatLanes;
constexpr std::size_t kStrips = kSide / kFloatRows;
static_assert(kSide % kFloatRows == 0);

constexpr std::size_t kPair = 2 * kSide;  // columns of [V Z]
/// Products that are added up by themselves in float32.
constexpr std::size_t kChain = 16;
/// Rows, in panels, whose sums are added up in float32, and columns likewise.
constexpr std::size_t kSumPanels = 8;
constexpr std::size_t kSumColumns = kSumPanels * kSide;

/// A cache line, fetched every so many steps of a product; and how many groups of columns ahead.
constexpr std::size_t kLine = 64 / sizeof(float);
constexpr std::size_t kFetchUpdate = std::min<std::size_t>(4 * kStrips, 16);
constexpr std::size_t kFetchSum = std::min<std::size_t>(2 * kStrips, 16);
constexpr std::size_t kGroupsAhead = 2;

/// How the two operands of a product lie in memory, in elements.
struct FloatOperands {
  const float* left;         // (kSide, depth), columns kSide apart
  const float* right;        // (depth, columns)
  std::size_t right_depth;   // from one row to the next
  std::size_t right_column;  // from one column to the next
  const float* next;         // what a later product reads: a line is fetched every few steps
};

template <std::size_t kColumns>
using FloatSums = FloatVector[kColumns][kFloatVectors];

/// work(first, std::integral_constant of how many) for groups of `count` columns, a multiple of 4:
/// as many as the registers hold, and fours where those do not divide them.
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

/// sums = left · right, kDepth columns of left from column `first` on.
template <std::size_t kColumns, std::size_t kDepth, std::size_t kFetchEvery>
HWY_INLINE void multiply(const FloatOperands& in, std::size_t first, FloatSums<kColumns>& sums) {
  const Floats d;
  // Steps are spelled out: a loop's counting, and a test whether to fetch, would fill the slots in
  // which the processor issues instructions before the products fill its multipliers.
  constexpr std::size_t kSteps = std::min<std::size_t>(kDepth, 16);
  static_assert(kDepth % kSteps == 0 && kSteps % kFetchEvery == 0);
  const float* lines = in.left + first * kSide;
  const float* factors = in.right + first * in.right_depth;
  const float* next = in.next + first / kFetchEvery * kLine;
  // Else GCC loads the factors that two products share once, and keeps them on the stack.
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

/// out (kSide, kColumns; columns kSide apart) −= left · right, of depth kPair.
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

/// out (kSide, kColumns; columns kSide apart) += left · right, of depth kDepth, in chains of kChain
/// products. The chains meet in memory: registers for both would be spilled.
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
