// Keys and values of a head, packed for the products of attention.cpp. Compiled once per
// instruction set.
#if defined(ATTNSCOPE_NUMERICS_INFERENCE_KERNELS_ATTENTION_PACKING_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef ATTNSCOPE_NUMERICS_INFERENCE_KERNELS_ATTENTION_PACKING_INL_H_
#undef ATTNSCOPE_NUMERICS_INFERENCE_KERNELS_ATTENTION_PACKING_INL_H_
#else
#define ATTNSCOPE_NUMERICS_INFERENCE_KERNELS_ATTENTION_PACKING_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/inference/kernels/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using FloatVector = hn::Vec<Floats>;

constexpr std::size_t kFloatLanes = hn::MaxLanes(Floats());
/// Queries (rows) and registers of keys (columns) of a block of sums: as many as fit into
/// registers.
constexpr std::size_t kQueries = kFloatLanes == 8 ? 6 : 8;
constexpr std::size_t kKeyVectors = kFloatLanes == 8 ? 2 : 3;
constexpr std::size_t kKeys = kKeyVectors * kFloatLanes;
static_assert(kKeyPanel % kKeys == 0 && kValueColumns % kFloatLanes == 0);
/// The same for weights times values, whose panel width depends on d_v.
constexpr std::size_t kMaxValueVectors = kFloatLanes == 8 ? 2 : 4;
template <std::size_t kVectors>
constexpr std::size_t kRowsBeside = kFloatLanes == 8 || kVectors == 4 ? 6 : 8;
/// Number of keys whose values stay in the L1 cache during a block of rows.
constexpr std::size_t kKeysInCache = 128;

#if HWY_TARGET != HWY_SCALAR
/// Loads four elements of each of several rows. `row(r)` points to those of row r, and block b of
/// the result contains those of row first + 4 b.
template <class D, class RowAt>
HWY_INLINE hn::Vec<D> load_quads(D d, std::size_t first, const RowAt& row) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return hn::LoadU(d, row(first));
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_quads(half, first + hn::MaxLanes(D()) / 2, row),
                       load_quads(half, first, row));
  }
}
#endif

/// Writes columns [0, depth) of kFloatLanes rows as rows of `packed`, kKeys apart.
template <class RowAt>
HWY_INLINE void pack_transposed(const RowAt& row_at, std::size_t depth,
                                float* HWY_RESTRICT packed) {
  std::size_t column = 0;
#if HWY_TARGET != HWY_SCALAR
  const Floats d;
  const hn::Repartition<double, Floats> pairs;
  for (; column + 4 <= depth; column += 4) {
    const auto row = [&](std::size_t at) HWY_ATTR { return row_at(at) + column; };
    const FloatVector a = load_quads(d, 0, row), b = load_quads(d, 1, row),
                      c = load_quads(d, 2, row), e = load_quads(d, 3, row);
    const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
    const auto ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
    const auto ce_low = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
    const auto ce_high = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
    float* to = packed + column * kKeys;
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_low, ce_low)), d, to);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_low, ce_low)), d, to + kKeys);
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_high, ce_high)), d, to + 2 * kKeys);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_high, ce_high)), d, to + 3 * kKeys);
  }
#endif
  for (; column < depth; ++column) {
    for (std::size_t row = 0; row < kFloatLanes; ++row) {
      packed[column * kKeys + row] = row_at(row)[column];
    }
  }
}

void pack_head_keys(MatrixView<const float> k, std::size_t first, float* HWY_RESTRICT packed) {
  const auto depth = static_cast<std::size_t>(k.cols);
  const std::size_t end = first + static_cast<std::size_t>(k.rows);
  const auto key_at = [&](std::size_t key) HWY_ATTR {
    return k.data + static_cast<std::int64_t>(key - first) * k.row_stride;
  };
  const auto place_of = [&](std::size_t key)
                            HWY_ATTR { return packed + key / kKeys * kKeys * depth + key % kKeys; };
  // Keys that share registers with earlier keys.
  std::size_t key = first;
  for (; key < end && key % kFloatLanes != 0; ++key) {
    const float* from = key_at(key);
    float* to = place_of(key);
    for (std::size_t column = 0; column < depth; ++column) to[column * kKeys] = from[column];
  }
  if (key == end) return;
  const std::size_t filled = (end + kKeys - 1) / kKeys * kKeys;
  for (; key < filled; key += kFloatLanes) {
    // Past the end, the last key is repeated; its scores are masked.
    const auto row_at = [&](std::size_t row)
                            HWY_ATTR { return key_at(std::min(key + row, end - 1)); };
    pack_transposed(row_at, depth, place_of(key));
  }
}

/// Calls visit(first register, registers) for each panel of values. Panels have nearly equal
/// widths.
template <class Visit>
HWY_INLINE void for_value_panels(std::int64_t columns, const Visit& visit) {
  const std::size_t vectors = (static_cast<std::size_t>(columns) + kFloatLanes - 1) / kFloatLanes;
  const std::size_t panels = (vectors + kMaxValueVectors - 1) / kMaxValueVectors;
  for (std::size_t panel = 0, first = 0; panel < panels; ++panel) {
    const std::size_t count = (vectors - first) / (panels - panel);
    visit(first, count);
    first += count;
  }
}

void pack_head_values(MatrixView<const float> v, std::size_t first_token, std::size_t room,
                      float* HWY_RESTRICT packed) {
  const auto columns = static_cast<std::size_t>(v.cols);
  for_value_panels(v.cols, [&](std::size_t first, std::size_t vectors) HWY_ATTR {
    const std::size_t width = vectors * kFloatLanes, start = first * kFloatLanes;
    const std::size_t filled = std::min(width, columns - start);
    float* to = packed + start * room + first_token * width;
    for (std::int64_t token = 0; token < v.rows; ++token, to += width) {
      const float* from = v.data + token * v.row_stride + start;
      if (filled == width) {
        for (std::size_t column = 0; column < width; column += kFloatLanes) {
          hn::StoreU(hn::LoadU(Floats(), from + column), Floats(), to + column);
        }
      } else {
        std::fill(std::copy(from, from + filled, to), to + width, 0.0F);
      }
    }
  });
}

void unpack_head_keys(const float* HWY_RESTRICT packed, MatrixView<float> k) {
  const auto depth = static_cast<std::size_t>(k.cols);
  for (std::size_t key = 0; key < static_cast<std::size_t>(k.rows); ++key) {
    const float* from = packed + key / kKeys * kKeys * depth + key % kKeys;
    float* to = k.data + static_cast<std::int64_t>(key) * k.row_stride;
    for (std::size_t column = 0; column < depth; ++column) to[column] = from[column * kKeys];
  }
}

void unpack_head_values(const float* HWY_RESTRICT packed, std::size_t room, MatrixView<float> v) {
  const auto columns = static_cast<std::size_t>(v.cols);
  for_value_panels(v.cols, [&](std::size_t first, std::size_t vectors) HWY_ATTR {
    const std::size_t width = vectors * kFloatLanes, start = first * kFloatLanes;
    const std::size_t filled = std::min(width, columns - start);
    for (std::int64_t token = 0; token < v.rows; ++token) {
      const float* from = packed + start * room + static_cast<std::size_t>(token) * width;
      std::copy(from, from + filled, v.data + token * v.row_stride + start);
    }
  });
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
