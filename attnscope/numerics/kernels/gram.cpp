// A Aᵀ in float64, into tiles.
#include "attnscope/numerics/kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnscope/numerics/kernels/gram.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "attnscope/numerics/kernels/kernels.h"
#include "attnscope/numerics/kernels/tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

/// Panels whose packed rows stay in the second-level cache while every column of tiles passes.
constexpr std::size_t kPanelsInCache = 8;

template <class T>
void pack(MatrixView<const T> a, double scale, std::size_t first, std::size_t last,
          double* HWY_RESTRICT packed) {
  // Strips of columns, because a row-major matrix is read along its rows and written across.
  constexpr std::size_t kStrip = 32;
  const auto rows = static_cast<std::size_t>(a.rows), depth = static_cast<std::size_t>(a.cols);
  for (std::size_t panel = first; panel < last; ++panel) {
    double* out = packed + panel * depth * kTile;
    const std::size_t filled = std::min(kTile, rows - std::min(rows, panel * kTile));
    if (filled < kTile) std::fill(out, out + depth * kTile, 0.0);
    const T* from = a.data + static_cast<std::int64_t>(panel * kTile) * a.row_stride;
    for (std::size_t start = 0; start < depth; start += kStrip) {
      const std::size_t end = std::min(start + kStrip, depth);
      if (a.row_stride == 1) {
        for (std::size_t column = start; column < end; ++column) {
          const T* source = from + static_cast<std::int64_t>(column) * a.col_stride;
          for (std::size_t row = 0; row < filled; ++row) {
            out[column * kTile + row] = scale * static_cast<double>(source[row]);
          }
        }
        continue;
      }
      for (std::size_t row = 0; row < filled; ++row) {
        const T* source = from + static_cast<std::int64_t>(row) * a.row_stride;
        for (std::size_t column = start; column < end; ++column) {
          out[column * kTile + row] =
              scale * static_cast<double>(source[static_cast<std::int64_t>(column) * a.col_stride]);
        }
      }
    }
  }
}

void pack_float32(MatrixView<const float> a, double scale, std::size_t first, std::size_t last,
                  double* packed) {
  pack(a, scale, first, last, packed);
}

void pack_float64(MatrixView<const double> a, double scale, std::size_t first, std::size_t last,
                  double* packed) {
  pack(a, scale, first, last, packed);
}

void add_gram(const double* packed, std::size_t depth, std::size_t first, std::size_t last,
              double* triangle) {
  for (std::size_t start = first; start < last; start += kPanelsInCache) {
    const std::size_t end = std::min(start + kPanelsInCache, last);
    for (std::size_t tile = 0; tile < end; ++tile) {
      for (std::size_t column = 0; column < kTile; column += kColumns) {
        for (std::size_t panel = std::max(start, tile); panel < end; ++panel) {
          multiply_rows</*kSubtract=*/false>(
              {.left = packed + panel * depth * kTile,
               .left_step = kTile,
               .right = packed + tile * depth * kTile + column,
               .right_depth = kTile,
               .right_column = 1,
               .depth = depth},
              triangle + panel_offset(panel) + tile * kTileSize + column * kTile, kTile);
        }
      }
    }
  }
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnscope::kernels {

HWY_EXPORT(pack_float32);
HWY_EXPORT(pack_float64);
HWY_EXPORT(add_gram);

void pack_panels(MatrixView<const float> a, double scale, std::size_t first, std::size_t last,
                 double* packed) {
  HWY_DYNAMIC_DISPATCH(pack_float32)(a, scale, first, last, packed);
}

void pack_panels(MatrixView<const double> a, double scale, std::size_t first, std::size_t last,
                 double* packed) {
  HWY_DYNAMIC_DISPATCH(pack_float64)(a, scale, first, last, packed);
}

void add_gram(const double* packed, std::size_t depth, std::size_t first, std::size_t last,
              double* triangle) {
  HWY_DYNAMIC_DISPATCH(add_gram)(packed, depth, first, last, triangle);
}

}  // namespace attnscope::kernels
#endif
