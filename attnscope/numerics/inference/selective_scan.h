// The recurrence of Mamba, in float32.
#pragma once

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// Inputs of some channels for some tokens. Rows are contiguous.
struct ScanTokens {
  MatrixView<const float> values, steps;    // (tokens, channels)
  MatrixView<const float> inputs, outputs;  // (tokens, n): B and C, the same for all channels
};

/// Updates the state S (n, channels) for each token in turn: S(k, c) = exp(step(c) rates(k, c))
/// S(k, c) + step(c) value(c) input(k). The token's row of out (tokens, channels) is Σ_k output(k)
/// S(k, c). `rates`: (n, channels). Each digit of a token's row depends only on earlier tokens and
/// its channel. Reference: transformers, mamba_selective_scan().
void selective_scan(const ScanTokens& tokens, MatrixView<const float> rates,
                    MatrixView<float> state, MatrixView<float> out, const Compute& compute);

}  // namespace attnscope
