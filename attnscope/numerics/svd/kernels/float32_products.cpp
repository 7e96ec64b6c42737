// A Aᵀ of float32 numbers, into float64 tiles. Products and short sums are in float32, which is
// twice as fast; long sums are in float64.
#include "attnscope/numerics/kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnscope/numerics/svd/kernels/float32_products.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "attnscope/numerics/kernels/dispatch.h"
#include "attnscope/numerics/kernels/tiles-inl.h"
#include "attnscope/numerics/svd/kernels/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

using Floats = hn::ScalableTag<float>;
using FloatVector = hn::Vec<Floats>;

constexpr std::size_t kFloatLanes = hn::MaxLanes(Floats());
/// Registers per column and columns of a strip: as many sums as fit into registers.
constexpr std::size_t kStripVectors = kFloatLanes == 4 ? 6 : 3;
constexpr std::size_t kStripColumns = kFloatLanes == 16 ? 8 : 4;
constexpr std::size_t kStripRows = kStripVectors * kFloatLanes;
static_assert(kFloatLanes == 1 || kGroup % kStripRows == 0);
static_assert(kTile % kStripColumns == 0);
/// Number of products per float32 sum.
constexpr std::size_t kChain = kFloat32Chain;
/// Number of groups whose packed rows stay in the L2 cache while all columns are processed.
constexpr std::size_t kGroupsInCache = 8;
/// Number of columns summed in float32: their part of a tile stays in the L1 cache.
constexpr std::size_t kSumColumns = 256;

void pack_group(MatrixView<const float> a, float scale, std::size_t group, std::size_t depth,
                float* HWY_RESTRICT packed) {
  constexpr std::size_t kStrip = 64;  // in columns: a row-major matrix is read along its rows
  const auto rows = static_cast<std::size_t>(a.rows), columns = static_cast<std::size_t>(a.cols);
  const std::size_t filled = std::min(kGroup, rows - std::min(rows, group * kGroup));
  if (filled < kGroup || columns < depth) std::fill(packed, packed + depth * kGroup, 0.0F);
  const float* from = a.data + static_cast<std::int64_t>(group * kGroup) * a.row_stride;
  for (std::size_t first = 0; first < columns; first += kStrip) {
    const std::size_t end = std::min(first + kStrip, columns);
    if (a.row_stride == 1) {
      for (std::size_t column = first; column < end; ++column) {
        const float* source = from + static_cast<std::int64_t>(column) * a.col_stride;
        for (std::size_t row = 0; row < filled; ++row) {
          packed[column * kGroup + row] = scale * source[row];
        }
      }
      continue;
    }
    for (std::size_t row = 0; row < filled; ++row) {
      const float* source = from + static_cast<std::int64_t>(row) * a.row_stride;
      for (std::size_t column = first; column < end; ++column) {
        packed[column * kGroup + row] =
            scale * source[static_cast<std::int64_t>(column) * a.col_stride];
      }
    }
  }
}

/// Computes out (kStripRows, kStripColumns; columns kGroup apart) = a strip of `left` times columns
/// of `right`, both [depth][kGroup].
HWY_INLINE void multiply_floats(const float* left, const float* right, std::size_t depth,
                                float* HWY_RESTRICT out) {
  const Floats d;
  for (std::size_t first = 0; first < depth; first += kChain) {
    FloatVector sums[kStripColumns][kStripVectors];
#pragma GCC unroll 8
    for (std::size_t column = 0; column < kStripColumns; ++column) {
#pragma GCC unroll 8
      for (std::size_t part = 0; part < kStripVectors; ++part) sums[column][part] = hn::Zero(d);
    }
#pragma GCC unroll 4
    for (std::size_t k = first; k < first + kChain; ++k) {
      FloatVector rows[kStripVectors];
#pragma GCC unroll 8
      for (std::size_t part = 0; part < kStripVectors; ++part) {
        rows[part] = hn::LoadU(d, left + k * kGroup + part * kFloatLanes);
      }
#pragma GCC unroll 8
      for (std::size_t column = 0; column < kStripColumns; ++column) {
        const FloatVector factor = hn::Set(d, right[k * kGroup + column]);
#pragma GCC unroll 8
        for (std::size_t part = 0; part < kStripVectors; ++part) {
          sums[column][part] = hn::MulAdd(rows[part], factor, sums[column][part]);
        }
      }
    }
#pragma GCC unroll 8
    for (std::size_t column = 0; column < kStripColumns; ++column) {
#pragma GCC unroll 8
      for (std::size_t part = 0; part < kStripVectors; ++part) {
        float* at = out + column * kGroup + part * kFloatLanes;
        const FloatVector sum = sums[column][part];
        hn::StoreU(first == 0 ? sum : hn::Add(hn::LoadU(d, at), sum), d, at);
      }
    }
  }
}

/// Adds the sums to the strip's columns of the tiles (panel, tile) of a group.
HWY_INLINE void add_to_tiles(const float* sums, std::size_t group, std::size_t tile,
                             std::size_t tiles, std::size_t column, double* triangle) {
  const Doubles d;
  const std::size_t last = std::min((group + 1) * kGroupTiles, tiles);
  for (std::size_t panel = std::max(group * kGroupTiles, tile); panel < last; ++panel) {
    double* out = triangle + panel_offset(panel) + tile * kTileSize + column * kTile;
    const float* from = sums + (panel - group * kGroupTiles) * kTile;
    for (std::size_t at = 0; at < kStripColumns; ++at) {
#pragma GCC unroll 12
      for (std::size_t row = 0; row < kTile; row += kLanes) {
        double* place = out + at * kTile + row;
        const Vector sum = load_float64(from + at * kGroup + row);
        hn::StoreU(hn::Add(hn::LoadU(d, place), sum), d, place);
      }
    }
  }
}

void add_floats(const float* packed, std::size_t depth, std::size_t tiles, std::size_t first,
                std::size_t last, double* triangle) {
  HWY_ALIGN float sums[kStripColumns * kGroup];
  for (std::size_t start = first; start < last; start += kGroupsInCache) {
    const std::size_t end = std::min(start + kGroupsInCache, last);
    for (std::size_t at = 0; at < depth; at += kSumColumns) {
      const std::size_t count = std::min(kSumColumns, depth - at);
      for (std::size_t tile = 0; tile < std::min(end * kGroupTiles, tiles); ++tile) {
        const std::size_t own = tile / kGroupTiles;
        const float* columns = packed + (own * depth + at) * kGroup + tile % kGroupTiles * kTile;
        for (std::size_t column = 0; column < kTile; column += kStripColumns) {
          for (std::size_t group = std::max(start, own); group < end; ++group) {
            const float* rows = packed + (group * depth + at) * kGroup;
            for (std::size_t row = 0; row < kGroup; row += kStripRows) {
              multiply_floats(rows + row, columns + column, count, sums + row);
            }
            add_to_tiles(sums, group, tile, tiles, column, triangle);
          }
        }
      }
    }
  }
}

void add_samples(const float* packed, std::size_t depth, std::size_t first, std::size_t last,
                 double* samples) {
  const Doubles d;
  constexpr std::size_t kVectors = kTile / kLanes;
  const float* columns = packed;  // the sample is the first tile
  for (std::size_t group = first; group < last; ++group) {
    for (std::size_t panel = 0; panel < kGroupTiles; ++panel) {
      const float* rows = packed + group * kGroup * depth + panel * kTile;
      double* out = samples + (group * kGroupTiles + panel) * kTileSize;
      for (std::size_t column = 0; column < kTile; column += 4) {
        Vector sums[4][kVectors];
#pragma GCC unroll 4
        for (auto& sum : sums) {
#pragma GCC unroll 24
          for (Vector& part : sum) part = hn::Zero(d);
        }
        for (std::size_t k = 0; k < depth; ++k) {
          Vector left[kVectors];
#pragma GCC unroll 24
          for (std::size_t part = 0; part < kVectors; ++part) {
            left[part] = load_float64(rows + k * kGroup + part * kLanes);
          }
#pragma GCC unroll 4
          for (std::size_t at = 0; at < 4; ++at) {
            const Vector factor =
                hn::Set(d, static_cast<double>(columns[k * kGroup + column + at]));
#pragma GCC unroll 24
            for (std::size_t part = 0; part < kVectors; ++part) {
              sums[at][part] = hn::MulAdd(left[part], factor, sums[at][part]);
            }
          }
        }
#pragma GCC unroll 4
        for (std::size_t at = 0; at < 4; ++at) {
#pragma GCC unroll 24
          for (std::size_t part = 0; part < kVectors; ++part) {
            double* place = out + (column + at) * kTile + part * kLanes;
            hn::StoreU(hn::Add(hn::LoadU(d, place), sums[at][part]), d, place);
          }
        }
      }
    }
  }
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnscope::kernels {

HWY_EXPORT(pack_group);
HWY_EXPORT(add_floats);
HWY_EXPORT(add_samples);

void pack_float32_group(Kernels kernels, MatrixView<const float> a, float scale, std::size_t group,
                        std::size_t depth, float* packed) {
  ATTNSCOPE_KERNEL(kernels, pack_group)(a, scale, group, depth, packed);
}

void add_float32_products(Kernels kernels, const float* packed, std::size_t depth,
                          std::size_t tiles, std::size_t first, std::size_t last,
                          double* triangle) {
  ATTNSCOPE_KERNEL(kernels, add_floats)(packed, depth, tiles, first, last, triangle);
}

void add_float32_samples(Kernels kernels, const float* packed, std::size_t depth, std::size_t first,
                         std::size_t last, double* samples) {
  ATTNSCOPE_KERNEL(kernels, add_samples)(packed, depth, first, last, samples);
}

}  // namespace attnscope::kernels
#endif
