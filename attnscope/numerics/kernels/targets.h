// The instruction sets that kernels are compiled for. Include it before Highway's headers.
#pragma once

// 128-bit x86 would not be faster than LAPACK, and vectors of unknown length (SVE, RVV) cannot form
// arrays of registers.
#define ATTNSCOPE_SLOW_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#ifdef ATTNSCOPE_WITHOUT_AVX512  // they take most of the time to compile
#define HWY_DISABLED_TARGETS (ATTNSCOPE_SLOW_TARGETS | HWY_AVX3 | HWY_AVX3_DL)
#else
#define HWY_DISABLED_TARGETS ATTNSCOPE_SLOW_TARGETS
#endif
