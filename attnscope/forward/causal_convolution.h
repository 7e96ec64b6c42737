// A convolution of each channel along the text, which sees no later token.
#pragma once

#include "attnscope/core/matrix_view.h"
#include "attnscope/forward/mixer_weights.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// x and out: (tokens, channels), with contiguous rows, not the same memory. `past`: the kernel − 1
/// rows before x, or no data at the begin of a text.
void convolve(const CausalConvolution& convolution, MatrixView<const float> past,
              MatrixView<const float> x, MatrixView<float> out, const Compute& compute);

/// The kernel − 1 rows before those that will follow x. `past` as above; `next` may not be its
/// memory.
void keep_last_rows(MatrixView<const float> past, MatrixView<const float> x,
                    MatrixView<float> next);

}  // namespace attnscope
