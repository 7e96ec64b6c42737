// Sums over attention maps. Most of the time goes into one logarithm per weight.
#include "attnscope/numerics/kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnscope/numerics/attention_maps/kernels/map_sums.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "attnscope/numerics/attention_maps/kernels/kernels.h"
#include "attnscope/numerics/kernels/dispatch.h"
#include "attnscope/numerics/kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

/// Returns ln x for normal x > 0, with a relative error below 1e-11. For 0, returns a finite
/// number, so that its product with 0 is 0.
HWY_INLINE Vector logarithm(Vector x) {
  const Doubles d;
  const hn::RebindToUnsigned<Doubles> du;
  // x = 2^e m with sqrt(1/2) <= m < sqrt(2). Shifting sqrt(1/2) to 1 makes e the exponent.
  const auto root = hn::Set(du, 0x3FE6A09E667F3BCD), one = hn::Set(du, 0x3FF0000000000000);
  const auto mantissa_bits = hn::Set(du, 0x000FFFFFFFFFFFFF);
  const auto carried = hn::Add(hn::BitCast(du, x), hn::Sub(one, root));
  const Vector m = hn::BitCast(d, hn::Add(hn::And(carried, mantissa_bits), root));
  // Puts the exponent, at most 2^12, into the low bits of 2^52.
  const auto in_low_bits = hn::Or(hn::ShiftRight<52>(carried), hn::BitCast(du, hn::Set(d, 0x1p52)));
  const Vector e = hn::Sub(hn::BitCast(d, in_low_bits), hn::Set(d, 0x1p52 + 1023));
  // ln m = 2 artanh s = 2 s (1 + s²/3 + s⁴/5 + …), |s| < 0.172. The first omitted term is 2e-12.
  const Vector s = hn::Div(hn::Sub(m, hn::Set(d, 1.0)), hn::Add(m, hn::Set(d, 1.0)));
  const Vector z = hn::Mul(s, s);
  Vector series = hn::Set(d, 1.0 / 13);
  series = hn::MulAdd(series, z, hn::Set(d, 1.0 / 11));
  series = hn::MulAdd(series, z, hn::Set(d, 1.0 / 9));
  series = hn::MulAdd(series, z, hn::Set(d, 1.0 / 7));
  series = hn::MulAdd(series, z, hn::Set(d, 1.0 / 5));
  series = hn::MulAdd(series, z, hn::Set(d, 1.0 / 3));
  series = hn::MulAdd(series, z, hn::Set(d, 1.0));
  constexpr double kLn2 = 0.69314718055994530942;
  return hn::MulAdd(e, hn::Set(d, kLn2), hn::Mul(hn::Add(s, s), series));
}

MapSums sums(MatrixView<const float> map, bool causal, double* column_squares) {
  const Doubles d;
  Vector first_columns = hn::Iota(d, 0.0);
  Vector weights = hn::Zero(d), entropy = hn::Zero(d), distance = hn::Zero(d);
  for (std::int64_t row = 0; row < map.rows; ++row) {
    const float* line = map.data + row * map.row_stride;
    const auto count = static_cast<std::size_t>(causal ? row + 1 : map.cols);
    Vector offset = hn::Sub(first_columns, hn::Set(d, static_cast<double>(row)));
    const auto add = [&](std::size_t col, Vector weight) {
      const Vector squares = hn::LoadU(d, column_squares + col);
      hn::StoreU(hn::MulAdd(weight, weight, squares), d, column_squares + col);
      weights = hn::Add(weights, weight);
      distance = hn::MulAdd(weight, hn::Abs(offset), distance);
      offset = hn::Add(offset, hn::Set(d, static_cast<double>(kLanes)));
      entropy = hn::NegMulAdd(weight, logarithm(weight), entropy);
    };
    std::size_t col = 0;
    for (; col + kLanes <= count; col += kLanes) add(col, load_float64(line + col));
    if (col == count) continue;
    float rest[kLanes] = {};
    std::copy(line + col, line + count, rest);
    add(col, load_float64(rest));
  }
  return {.weights = hn::GetLane(hn::SumOfLanes(d, weights)),
          .entropy = hn::GetLane(hn::SumOfLanes(d, entropy)),
          .distance = hn::GetLane(hn::SumOfLanes(d, distance))};
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnscope::kernels {

HWY_EXPORT(sums);

MapSums map_sums(Kernels kernels, MatrixView<const float> map, bool causal,
                 double* column_squares) {
  return ATTNSCOPE_KERNEL(kernels, sums)(map, causal, column_squares);
}

}  // namespace attnscope::kernels
#endif
