// Layout of weights in a panel: strips as wide as the registers of a product, and within a strip
// one input after the other. Compiled once per instruction set.
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
/// Registers per row and rows of a block of sums: as many as fit into the register file.
constexpr std::size_t kStripVectors = kFloatLanes == 16 ? 3 : kFloatLanes == 8 ? 2 : 4;
constexpr std::size_t kStripRows = kFloatLanes == 16 ? 8 : 6;
constexpr std::size_t kStripColumns = kStripVectors * kFloatLanes;
static_assert(kPanel % kStripColumns == 0);

/// Returns the index of the weight (output, input) in a panel.
HWY_INLINE std::size_t panel_index(std::size_t output, std::size_t input, std::size_t depth) {
  const std::size_t strip = output / kStripColumns;
  return strip * kStripColumns * depth + input * kStripColumns + output % kStripColumns;
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
