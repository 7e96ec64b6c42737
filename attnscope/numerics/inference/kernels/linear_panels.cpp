// Packing of the weights of a linear layer into panels.
#include "attnscope/numerics/kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnscope/numerics/inference/kernels/linear_panels.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "attnscope/numerics/inference/kernels/kernels.h"
#include "attnscope/numerics/inference/kernels/panels-inl.h"
#include "attnscope/numerics/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

using Words = hn::RebindToUnsigned<Floats>;
using WordVector = hn::Vec<Words>;

/// Loads a register of raw data. Data in a file may be unaligned.
HWY_INLINE WordVector load_words(const std::byte* at) {
  return hn::LoadU(Words(), reinterpret_cast<const std::uint32_t*>(at));
}

/// Loads a register of binary16 numbers as float32.
HWY_INLINE FloatVector load_f16(const std::byte* at) {
  const hn::Rebind<hwy::float16_t, Floats> halves;
  return hn::PromoteTo(Floats(), hn::LoadU(halves, reinterpret_cast<const hwy::float16_t*>(at)));
}

/// Loads a register of bfloat16 numbers as float32.
HWY_INLINE FloatVector load_bf16(const std::byte* at) {
  const hn::Rebind<std::uint16_t, Words> halves;
  const auto bits = hn::LoadU(halves, reinterpret_cast<const std::uint16_t*>(at));
  return hn::BitCast(Floats(), hn::ShiftLeft<16>(hn::PromoteTo(Words(), bits)));
}

/// Transposes: lane c of x[r] becomes lane r of x[c].
HWY_INLINE void transpose_words([[maybe_unused]] WordVector (&x)[kFloatLanes]) {
#if HWY_TARGET != HWY_SCALAR
  const Words d;
  const hn::Repartition<std::uint64_t, Words> pairs;
#pragma GCC unroll 16
  for (std::size_t row = 0; row < kFloatLanes; row += 4) {  // within blocks of four lanes
    const WordVector low01 = hn::InterleaveLower(d, x[row], x[row + 1]);
    const WordVector high01 = hn::InterleaveUpper(d, x[row], x[row + 1]);
    const WordVector low23 = hn::InterleaveLower(d, x[row + 2], x[row + 3]);
    const WordVector high23 = hn::InterleaveUpper(d, x[row + 2], x[row + 3]);
    const auto lower = [&](WordVector a, WordVector b) HWY_ATTR {
      return hn::BitCast(d,
                         hn::InterleaveLower(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
    };
    const auto upper = [&](WordVector a, WordVector b) HWY_ATTR {
      return hn::BitCast(d,
                         hn::InterleaveUpper(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
    };
    x[row] = lower(low01, low23);
    x[row + 1] = upper(low01, low23);
    x[row + 2] = lower(high01, high23);
    x[row + 3] = upper(high01, high23);
  }
  if constexpr (kFloatLanes >= 16) {  // pairs of blocks
#pragma GCC unroll 16
    for (std::size_t row = 0; row < kFloatLanes; ++row) {
      if (row & 4) continue;
      const WordVector a = x[row], b = x[row + 4];
      x[row] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);
      x[row + 4] = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
    }
  }
  if constexpr (kFloatLanes >= 8) {  // halves
    constexpr std::size_t kHalf = kFloatLanes / 2;
#pragma GCC unroll 16
    for (std::size_t row = 0; row < kHalf; ++row) {
      const WordVector a = x[row], b = x[row + kHalf];
      x[row] = hn::ConcatLowerLower(d, b, a);
      x[row + kHalf] = hn::ConcatUpperUpper(d, b, a);
    }
  }
#endif
}

/// Number of inputs that are transposed together.
template <DType kDType>
constexpr std::size_t kTurned = kDType == DType::bf16 ? 2 * kFloatLanes : kFloatLanes;

/// Transposes kTurned inputs of kFloatLanes outputs, `at` bytes after their first. Prefetches the
/// data `ahead` bytes later.
template <DType kDType>
HWY_INLINE void turn(const std::byte* const* outputs, std::size_t at, std::ptrdiff_t ahead,
                     float* HWY_RESTRICT out) {
  const Words d;
  WordVector x[kFloatLanes];
#pragma GCC unroll 16
  for (std::size_t output = 0; output < kFloatLanes; ++output) {
    hwy::Prefetch(outputs[output] + at + ahead);
    if constexpr (kDType == DType::f16) {
      x[output] = hn::BitCast(d, load_f16(outputs[output] + at));
    } else {
      x[output] = load_words(outputs[output] + at);
    }
  }
  transpose_words(x);
  auto* words = reinterpret_cast<std::uint32_t*>(out);
#pragma GCC unroll 16
  for (std::size_t input = 0; input < kFloatLanes; ++input) {
    if constexpr (kDType == DType::bf16) {  // each word has two inputs, the first in its lower half
      hn::StoreU(hn::ShiftLeft<16>(x[input]), d, words + 2 * input * kStripColumns);
      hn::StoreU(hn::And(x[input], hn::Set(d, 0xFFFF0000U)), d,
                 words + (2 * input + 1) * kStripColumns);
    } else {
      hn::StoreU(x[input], d, words + input * kStripColumns);
    }
  }
}

template <DType kDType>
void pack_rows(const std::byte* const* outputs, const PanelLocation& location) {
  constexpr std::size_t kBytes = kDType == DType::f32 ? 4 : 2, kStep = kTurned<kDType>;
  for (std::size_t first = 0; first < kPanelGroup; first += kFloatLanes) {
    const std::byte* const* sources = outputs + first;
    // Position of the next group's rows, if all rows are equally spaced.
    const std::ptrdiff_t ahead = (outputs[kPanelGroup - 1] - outputs[kPanelGroup - 2]) *
                                 static_cast<std::ptrdiff_t>(kPanelGroup);
    float* out = location.panel +
                 panel_index(location.group * kPanelGroup + first, location.first, location.depth);
    std::size_t input = 0;
    for (; input + kStep <= location.count; input += kStep) {
      turn<kDType>(sources, input * kBytes, ahead, out + input * kStripColumns);
    }
    if (input == location.count) continue;
    // Processes the end of the rows from a copy, because the kernel reads beyond it.
    const std::size_t left = location.count - input;
    std::byte ends[kFloatLanes][kStep * kBytes] = {};
    const std::byte* end_sources[kFloatLanes];
    for (std::size_t output = 0; output < kFloatLanes; ++output) {
      std::memcpy(ends[output], sources[output] + input * kBytes, left * kBytes);
      end_sources[output] = ends[output];
    }
    HWY_ALIGN float turned[kStep * kStripColumns];
    turn<kDType>(end_sources, 0, 0, turned);
    for (std::size_t at = 0; at < left; ++at) {
      std::memcpy(out + (input + at) * kStripColumns, turned + at * kStripColumns,
                  kFloatLanes * sizeof(float));
    }
  }
}

template <DType kDType>
void pack_columns(const std::byte* inputs, std::ptrdiff_t step, const PanelLocation& location) {
  constexpr std::size_t kBytes = kDType == DType::f32 ? 4 : 2;
  const Floats d;
  const std::size_t output = location.group * kPanelGroup;
  for (std::size_t input = 0; input < location.count; ++input, inputs += step) {
#pragma GCC unroll 16
    for (std::size_t first = 0; first < kPanelGroup; first += kFloatLanes) {
      const std::byte* at = inputs + first * kBytes;
      FloatVector values;
      if constexpr (kDType == DType::f32) {
        values = hn::BitCast(d, load_words(at));
      } else if constexpr (kDType == DType::f16) {
        values = load_f16(at);
      } else {
        values = load_bf16(at);
      }
      hn::StoreU(
          values, d,
          location.panel + panel_index(output + first, location.first + input, location.depth));
    }
  }
}

void pack_rows_of(DType dtype, const std::byte* const* outputs, const PanelLocation& location) {
  if (dtype == DType::f32) return pack_rows<DType::f32>(outputs, location);
  if (dtype == DType::f16) return pack_rows<DType::f16>(outputs, location);
  pack_rows<DType::bf16>(outputs, location);
}

void pack_columns_of(DType dtype, const std::byte* inputs, std::ptrdiff_t step,
                     const PanelLocation& location) {
  if (dtype == DType::f32) return pack_columns<DType::f32>(inputs, step, location);
  if (dtype == DType::f16) return pack_columns<DType::f16>(inputs, step, location);
  pack_columns<DType::bf16>(inputs, step, location);
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnscope::kernels {

HWY_EXPORT(pack_rows_of);
HWY_EXPORT(pack_columns_of);

bool is_packed_directly(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

void pack_output_rows(Kernels kernels, DType dtype, const std::byte* const* outputs,
                      const PanelLocation& location) {
  ATTNSCOPE_KERNEL(kernels, pack_rows_of)(dtype, outputs, location);
}

void pack_input_rows(Kernels kernels, DType dtype, const std::byte* inputs, std::ptrdiff_t step,
                     const PanelLocation& location) {
  ATTNSCOPE_KERNEL(kernels, pack_columns_of)(dtype, inputs, step, location);
}

}  // namespace attnscope::kernels
#endif
