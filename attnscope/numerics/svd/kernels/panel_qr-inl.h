// QR of a tall panel of kWidth columns, in float64.
#if defined(ATTNSCOPE_NUMERICS_KERNELS_PANEL_QR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNSCOPE_NUMERICS_KERNELS_PANEL_QR_INL_H_
#undef ATTNSCOPE_NUMERICS_KERNELS_PANEL_QR_INL_H_
#else
#define ATTNSCOPE_NUMERICS_KERNELS_PANEL_QR_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "attnscope/numerics/kernels/tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

/// Number of rows per partial sum, so that long sums stay accurate.
constexpr std::size_t kSumRows = 128;
/// Columns with a smaller squared norm count as zero: their squares would be inaccurate, and they
/// are negligible compared with elements of order 1.
constexpr double kLeastColumnSquare = 0x1p-900;

/// Adds leftᵀ · right, both (rows, kWidth) row-major, to out (kWidth, kWidth); out[column * kWidth
/// + row].
template <std::size_t kWidth>
HWY_INLINE void add_inner_products(const double* left, const double* right, std::size_t rows,
                                   double* out) {
  for (std::size_t first = 0; first < rows; first += kSumRows) {
    multiply_tile</*kSubtract=*/false, kWidth>({.left = left + first * kWidth,
                                                .left_step = kWidth,
                                                .right = right + first * kWidth,
                                                .right_depth = kWidth,
                                                .right_column = 1,
                                                .depth = std::min(kSumRows, rows - first)},
                                               out, kWidth);
  }
}

/// Applies one column's reflector to the rows below it: row −= v w, where v (the row's entry in
/// `column` times `scale`) replaces that entry. In the same pass, computes the products of the next
/// column with all others. Registers before kFirst contain only reflectors and are unchanged.
template <std::size_t kWidth, std::size_t kFirst>
void reflect_rows(double* rows, std::size_t count, std::size_t column, double scale,
                  const double* w, double* products) {
  constexpr std::size_t kRowVectors = kWidth / kLanes;
  const Doubles d;
  const std::size_t next = std::min(column + 1, kWidth - 1);
  Vector weights[kRowVectors], total[kRowVectors];
#pragma GCC unroll 12
  for (std::size_t part = kFirst; part < kRowVectors; ++part) {
    weights[part] = hn::LoadU(d, w + part * kLanes);
    total[part] = hn::Zero(d);
  }
  for (std::size_t first = 0; first < count; first += kSumRows) {
    Vector sums[kRowVectors];
#pragma GCC unroll 12
    for (std::size_t part = kFirst; part < kRowVectors; ++part) sums[part] = hn::Zero(d);
    for (std::size_t row = first; row < std::min(first + kSumRows, count); ++row) {
      double* at = rows + row * kWidth;
      const double v = at[column] * scale;
      const Vector minus_v = hn::Set(d, -v);
      Vector values[kRowVectors];
#pragma GCC unroll 12
      for (std::size_t part = kFirst; part < kRowVectors; ++part) {
        values[part] = hn::MulAdd(minus_v, weights[part], hn::LoadU(d, at + part * kLanes));
        hn::StoreU(values[part], d, at + part * kLanes);
      }
      at[column] = v;
      const Vector factor = hn::Set(d, at[next]);
#pragma GCC unroll 12
      for (std::size_t part = kFirst; part < kRowVectors; ++part) {
        sums[part] = hn::MulAdd(factor, values[part], sums[part]);
      }
    }
#pragma GCC unroll 12
    for (std::size_t part = kFirst; part < kRowVectors; ++part) {
      total[part] = hn::Add(total[part], sums[part]);
    }
  }
#pragma GCC unroll 12
  for (std::size_t part = kFirst; part < kRowVectors; ++part) {
    hn::StoreU(total[part], d, products + part * kLanes);
  }
}

template <std::size_t kWidth, std::size_t kFirst = 0>
void reflect_rows_from(std::size_t first, double* rows, std::size_t count, std::size_t column,
                       double scale, const double* w, double* products) {
  if constexpr (kFirst + 1 < kWidth / kLanes) {
    if (first > kFirst) {
      reflect_rows_from<kWidth, kFirst + 1>(first, rows, count, column, scale, w, products);
      return;
    }
  }
  reflect_rows<kWidth, kFirst>(rows, count, column, scale, w, products);
}

/// Computes T of I − V T Vᵀ (upper triangular, row-major) from the reflectors and their scales.
template <std::size_t kWidth>
void fill_t(const double* v, std::size_t rows, const double* tau, double* t) {
  HWY_ALIGN double products[kWidth * kWidth] = {};
  add_inner_products<kWidth>(v, v, rows, products);
  std::fill(t, t + kWidth * kWidth, 0.0);
  for (std::size_t column = 0; column < kWidth; ++column) {
    t[column * kWidth + column] = tau[column];
    for (std::size_t row = 0; row < column; ++row) {
      double sum = 0;
      for (std::size_t k = row; k < column; ++k) {
        sum += t[row * kWidth + k] * products[k * kWidth + column];
      }
      t[row * kWidth + column] = -tau[column] * sum;
    }
  }
}

/// Replaces the panel (rows ≥ kWidth, kWidth), row-major, by its reflectors, unit lower
/// trapezoidal; r (kWidth, kWidth) row-major.
template <std::size_t kWidth>
void factor_panel(double* panel, std::size_t rows, double* r, double* t) {
  HWY_ALIGN double products[kWidth] = {}, w[kWidth] = {};
  double tau[kWidth];
  // Products of the first column. Each reflector's pass computes those of the next.
  for (std::size_t first = 0; first < rows; first += kSumRows) {
    double sums[kWidth] = {};
    for (std::size_t row = first; row < std::min(first + kSumRows, rows); ++row) {
      const double* at = panel + row * kWidth;
      for (std::size_t column = 0; column < kWidth; ++column) sums[column] += at[0] * at[column];
    }
    for (std::size_t column = 0; column < kWidth; ++column) products[column] += sums[column];
  }
  std::fill(r, r + kWidth * kWidth, 0.0);
  for (std::size_t column = 0; column < kWidth; ++column) {
    double* row = panel + column * kWidth;
    const double alpha = row[column];
    double beta = alpha, scale = 0;
    tau[column] = 0;
    std::fill(w, w + kWidth, 0.0);
    if (products[column] > kLeastColumnSquare) {
      const double norm = std::sqrt(products[column]);
      beta = alpha > 0 ? -norm : norm;
      tau[column] = (beta - alpha) / beta;
      scale = 1 / (alpha - beta);
      for (std::size_t right = column + 1; right < kWidth; ++right) {
        w[right] = row[right] - products[right] / beta;
      }
    }
    r[column * kWidth + column] = beta;
    row[column] = 1;
    for (std::size_t right = column + 1; right < kWidth; ++right) {
      r[column * kWidth + right] = row[right] - w[right];
      row[right] = 0;
    }
    if (column + 1 < rows) {
      reflect_rows_from<kWidth>(column / kLanes, row + kWidth, rows - column - 1, column, scale, w,
                                products);
    }
  }
  fill_t<kWidth>(panel, rows, tau, t);
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
