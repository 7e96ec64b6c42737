// Rotation of pairs of dimensions.
#include "attnscope/numerics/kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnscope/numerics/inference/kernels/rotary.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstddef>

#include "attnscope/numerics/inference/kernels/kernels.h"
#include "attnscope/numerics/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D, class V = hn::Vec<D>>
HWY_INLINE void turn(D d, V& a, V& b, const float* cos, const float* sin, bool backward) {
  const auto c = hn::LoadU(d, cos), stored = hn::LoadU(d, sin);
  const auto s = backward ? hn::Neg(stored) : stored;
  const auto rotated = hn::NegMulAdd(b, s, hn::Mul(a, c));
  b = hn::MulAdd(a, s, hn::Mul(b, c));
  a = rotated;
}

template <class D>
HWY_INLINE void rotate_half_pairs(D d, float* HWY_RESTRICT first, float* HWY_RESTRICT second,
                                  const float* cos, const float* sin, bool backward) {
  auto a = hn::LoadU(d, first), b = hn::LoadU(d, second);
  turn(d, a, b, cos, sin, backward);
  hn::StoreU(a, d, first);
  hn::StoreU(b, d, second);
}

template <class D>
HWY_INLINE void rotate_neighbor_pairs(D d, float* HWY_RESTRICT x, const float* cos,
                                      const float* sin, bool backward) {
  hn::Vec<D> a, b;
  hn::LoadInterleaved2(d, x, a, b);
  turn(d, a, b, cos, sin, backward);
  hn::StoreInterleaved2(a, b, d, x);
}

void rotate_neighbors_of_rows(MatrixView<float> x, const float* cos, const float* sin,
                              std::int64_t pairs, bool backward) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> one;
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(hn::ScalableTag<float>()));
  for (std::int64_t row = 0; row < x.rows; ++row) {
    float* values = x.data + row * x.row_stride;
    const float *row_cos = cos + row * pairs, *row_sin = sin + row * pairs;
    std::int64_t at = 0;
    for (; at + kLanes <= pairs; at += kLanes) {
      rotate_neighbor_pairs(d, values + 2 * at, row_cos + at, row_sin + at, backward);
    }
    for (; at < pairs; ++at) {
      rotate_neighbor_pairs(one, values + 2 * at, row_cos + at, row_sin + at, backward);
    }
  }
}

void rotate_halves_of_rows(MatrixView<float> x, const float* cos, const float* sin,
                           std::int64_t pairs, bool backward) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> one;
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(hn::ScalableTag<float>()));
  for (std::int64_t row = 0; row < x.rows; ++row) {
    float* first = x.data + row * x.row_stride;
    float* second = first + pairs;
    const float *row_cos = cos + row * pairs, *row_sin = sin + row * pairs;
    std::int64_t at = 0;
    for (; at + kLanes <= pairs; at += kLanes) {
      rotate_half_pairs(d, first + at, second + at, row_cos + at, row_sin + at, backward);
    }
    for (; at < pairs; ++at) {
      rotate_half_pairs(one, first + at, second + at, row_cos + at, row_sin + at, backward);
    }
  }
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnscope::kernels {

HWY_EXPORT(rotate_halves_of_rows);
HWY_EXPORT(rotate_neighbors_of_rows);

void rotate_halves(Kernels kernels, MatrixView<float> x, const float* cos, const float* sin,
                   std::int64_t pairs, bool backward) {
  ATTNSCOPE_KERNEL(kernels, rotate_halves_of_rows)(x, cos, sin, pairs, backward);
}

void rotate_neighbors(Kernels kernels, MatrixView<float> x, const float* cos, const float* sin,
                      std::int64_t pairs, bool backward) {
  ATTNSCOPE_KERNEL(kernels, rotate_neighbors_of_rows)(x, cos, sin, pairs, backward);
}

}  // namespace attnscope::kernels
#endif
