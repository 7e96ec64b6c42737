// A Bᵀ in float64, into tiles.
#include "attnscope/numerics/kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnscope/numerics/products/kernels/packed_product.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "attnscope/numerics/kernels/dispatch.h"
#include "attnscope/numerics/kernels/tiles-inl.h"
#include "attnscope/numerics/products/kernels/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

void multiply(const double* left, std::size_t panels, const double* right, std::size_t tiles,
              std::size_t depth, double* out) {
  // Number of columns per partial sum: their part of a tile stays in the L1 cache, and long sums
  // stay accurate.
  constexpr std::size_t kSumColumns = 256;
  std::fill(out, out + panels * tiles * kTileSize, 0.0);
  for (std::size_t at = 0; at < depth; at += kSumColumns) {
    const std::size_t count = std::min(kSumColumns, depth - at);
    for (std::size_t tile = 0; tile < tiles; ++tile) {
      for (std::size_t column = 0; column < kTile; column += kColumns) {
        for (std::size_t panel = 0; panel < panels; ++panel) {
          multiply_rows</*kSubtract=*/false>(
              {.left = left + (panel * depth + at) * kTile,
               .left_step = kTile,
               .right = right + (tile * depth + at) * kTile + column,
               .right_depth = kTile,
               .right_column = 1,
               .depth = count},
              out + (tile * panels + panel) * kTileSize + column * kTile, kTile);
        }
      }
    }
  }
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnscope::kernels {

HWY_EXPORT(multiply);

void multiply_panels(Kernels kernels, const double* left, std::size_t panels, const double* right,
                     std::size_t tiles, std::size_t depth, double* out) {
  ATTNSCOPE_KERNEL(kernels, multiply)(left, panels, right, tiles, depth, out);
}

}  // namespace attnscope::kernels
#endif
