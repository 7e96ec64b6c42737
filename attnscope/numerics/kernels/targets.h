// Which instruction sets the kernels are compiled for; included before anything of Highway's.
#pragma once

// 128-bit x86 would not beat LAPACK, and vectors whose length is known only at run time cannot be
// arrays of registers.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
