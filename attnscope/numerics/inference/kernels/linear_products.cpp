// Products x Wᵀ of rows with a panel of weights.
#include "attnscope/numerics/kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnscope/numerics/inference/kernels/linear_products.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "attnscope/numerics/inference/kernels/activations-inl.h"
#include "attnscope/numerics/inference/kernels/kernels.h"
#include "attnscope/numerics/inference/kernels/panels-inl.h"
#include "attnscope/numerics/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

/// Forces x to be read from memory once. GCC would read it again for each use.
HWY_INLINE FloatVector once(FloatVector x) {
#if HWY_ARCH_X86 && HWY_COMPILER_GCC_ACTUAL
  asm("" : "+v"(x.raw));
#endif
  return x;
}

/// Computes sums (kRows, kStripColumns) = x times a strip. Each sum is one chain from the first
/// input to the last, so that its digits do not depend on the number of rows.
template <std::size_t kRows>
HWY_INLINE void multiply_strip_rows(Lines<const float> x, const float* HWY_RESTRICT strip,
                                    std::size_t depth, float* HWY_RESTRICT out) {
  const Floats d;
  FloatVector sums[kRows][kStripVectors];
#pragma GCC unroll 8
  for (std::size_t row = 0; row < kRows; ++row) {
#pragma GCC unroll 8
    for (std::size_t part = 0; part < kStripVectors; ++part) sums[row][part] = hn::Zero(d);
  }
#pragma GCC unroll 4
  for (std::size_t k = 0; k < depth; ++k) {
    FloatVector weights[kStripVectors];
#pragma GCC unroll 8
    for (std::size_t part = 0; part < kStripVectors; ++part) {
      weights[part] = hn::LoadU(d, strip + k * kStripColumns + part * kFloatLanes);
    }
#pragma GCC unroll 8
    for (std::size_t row = 0; row < kRows; ++row) {
      const FloatVector factor = once(hn::Set(d, x.data[row * x.step + k]));
#pragma GCC unroll 8
      for (std::size_t part = 0; part < kStripVectors; ++part) {
        sums[row][part] = hn::MulAdd(weights[part], factor, sums[row][part]);
      }
    }
  }
#pragma GCC unroll 8
  for (std::size_t row = 0; row < kRows; ++row) {
#pragma GCC unroll 8
    for (std::size_t part = 0; part < kStripVectors; ++part) {
      hn::Store(sums[row][part], d, out + row * kStripColumns + part * kFloatLanes);
    }
  }
}

template <std::size_t kRows = kStripRows>
HWY_INLINE void multiply_rows_of(std::size_t rows, Lines<const float> x, const float* strip,
                                 std::size_t depth, float* out) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return multiply_rows_of<kRows - 1>(rows, x, strip, depth, out);
  }
  multiply_strip_rows<kRows>(x, strip, depth, out);
}

/// Loads `count` ≤ kFloatLanes elements.
HWY_INLINE FloatVector load_some(const float* from, std::size_t count) {
  const Floats d;
  if (count == kFloatLanes) return hn::LoadU(d, from);
  HWY_ALIGN float line[kFloatLanes] = {};
  std::copy(from, from + count, line);
  return hn::Load(d, line);
}

HWY_INLINE void store_some(FloatVector values, std::size_t count, float* to) {
  const Floats d;
  if (count == kFloatLanes) return hn::StoreU(values, d, to);
  HWY_ALIGN float line[kFloatLanes];
  hn::Store(values, d, line);
  std::copy(line, line + count, to);
}

/// Applies the epilogue to `rows` rows from `row` on, for the panel's columns from `column` on.
template <Activation kActivation>
void finish(const PanelProduct& in, std::size_t row, std::size_t rows, std::size_t column,
            const float* tile) {
  const Floats d;
  for (std::size_t part = 0; part < kStripColumns; part += kFloatLanes) {
    const std::size_t at = column + part;
    if (at >= in.columns) return;
    const std::size_t count = std::min(kFloatLanes, in.columns - at);
    const FloatVector bias = in.bias != nullptr ? load_some(in.bias + at, count) : hn::Zero(d);
    for (std::size_t line = 0; line < rows; ++line) {
      FloatVector y = hn::Load(d, tile + line * kStripColumns + part);
      y = activated<kActivation>(d, hn::Add(y, bias));
      const std::size_t place = row + line;
      if (in.multiply.data != nullptr) {
        y = hn::Mul(y, load_some(in.multiply.data + place * in.multiply.step + at, count));
      }
      if (in.add.data != nullptr) {
        y = hn::Add(y, load_some(in.add.data + place * in.add.step + at, count));
      }
      store_some(y, count, in.out.data + place * in.out.step + at);
    }
  }
}

using Finish = void (*)(const PanelProduct&, std::size_t, std::size_t, std::size_t, const float*);

Finish finish_of(Activation activation) {
  switch (activation) {
    case Activation::linear: break;
    case Activation::gelu: return finish<Activation::gelu>;
    case Activation::gelu_tanh: return finish<Activation::gelu_tanh>;
    case Activation::quick_gelu: return finish<Activation::quick_gelu>;
    case Activation::gelu_10: return finish<Activation::gelu_10>;
    case Activation::silu: return finish<Activation::silu>;
    case Activation::relu: return finish<Activation::relu>;
    case Activation::relu_squared: return finish<Activation::relu_squared>;
    case Activation::tanh: return finish<Activation::tanh>;
    case Activation::sigmoid: return finish<Activation::sigmoid>;
    case Activation::mish: return finish<Activation::mish>;
  }
  return finish<Activation::linear>;
}

void multiply_panel_rows(const PanelProduct& in) {
  const Floats d;
  const Finish finish_tile = finish_of(in.activation);
  HWY_ALIGN float tile[kStripRows * kStripColumns];
  // Groups of nearly equal size: with few rows, the additions of a sum would wait for each other.
  const std::size_t groups = (in.rows + kStripRows - 1) / kStripRows;
  for (std::size_t column = 0; column < in.columns; column += kStripColumns) {
    const float* strip = in.panel + panel_index(column, in.first, in.panel_depth);
    for (std::size_t group = 0; group < groups; ++group) {
      const std::size_t row = group * in.rows / groups;
      const std::size_t rows = (group + 1) * in.rows / groups - row;
      const Lines<const float> x = {in.x.data + row * in.x.step, in.x.step};
      multiply_rows_of(rows, x, strip, in.depth, tile);
      if (!in.is_first || !in.is_last) {
        for (std::size_t line = 0; line < rows; ++line) {
          float* sums = in.sums + (row + line) * kPanel + column;
          for (std::size_t part = 0; part < kStripColumns; part += kFloatLanes) {
            float* at = tile + line * kStripColumns + part;
            FloatVector sum = hn::Load(d, at);
            if (!in.is_first) sum = hn::Add(hn::Load(d, sums + part), sum);
            hn::Store(sum, d, in.is_last ? at : sums + part);
          }
        }
      }
      if (in.is_last) finish_tile(in, row, rows, column, tile);
    }
  }
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnscope::kernels {

HWY_EXPORT(multiply_panel_rows);

void multiply_panel(Kernels kernels, const PanelProduct& product) {
  ATTNSCOPE_KERNEL(kernels, multiply_panel_rows)(product);
}

}  // namespace attnscope::kernels
#endif
