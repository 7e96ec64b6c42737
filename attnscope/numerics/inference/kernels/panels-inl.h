// The layout of weights in a panel: strips as wide as the products' registers; in a strip, input
// after input. Compiled once per instruction set.
#if defined(ATTNSCOPE_NUMERICS_KERNELS_PANELS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNSCOPE_NUMERICS_KERNELS_PANELS_INL_H_
#undef ATTNSCOPE_NUMERICS_KERNELS_PANELS_INL_H_
#else
#define ATTNSCOPE_NUMERICS_KERNELS_PANELS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "attnscope/numerics/inference/kernels/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using FloatVector = hn::Vec<Floats>;

constexpr std::size_t kFloatLanes = hn::MaxLanes(Floats());
/// Registers side by side and rows: together as many sums as the register file holds.
constexpr std::size_t kStripVectors = kFloatLanes == 16 ? 3 : kFloatLanes == 8 ? 2 : 4;
constexpr std::size_t kStripRows = kFloatLanes == 16 ? 8 : 6;
constexpr std::size_t kStripColumns = kStripVectors * kFloatLanes;
static_assert(kPanel % kStripColumns == 0);

/// The index of the weight (output, input) in a panel.
HWY_INLINE std::size_t panel_index(std::size_t output, std::size_t input, std::size_t depth) {
  const std::size_t strip = output / kStripColumns;
  return strip * kStripColumns * depth + input * kStripColumns + output % kStripColumns;
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
