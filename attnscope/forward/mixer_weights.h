// What a forward pass reads of layers that do not attend.
#pragma once

#include <optional>
#include <vector>

#include "attnscope/forward/forward_weights.h"

namespace attnscope {

/// y(t, c) = Σ_j tap(j, c) x(t − kernel + 1 + j, c) + bias(c); before the text, x is 0.
struct CausalConvolution {
  std::int64_t kernel = 1, channels = 0;
  std::vector<float> taps;  // (kernel, channels)
  std::vector<float> bias;  // empty: none
};

struct DeltaNetWeights {
  DeltaNetSpec spec;
  /// To queries, keys and values of all heads, their gates, and the numbers b and a of each value
  /// head.
  SharedLinear input;
  CausalConvolution convolution;  // of queries, keys and values
  std::vector<float> rates;       // exp(A_log), of each value head
  std::vector<float> rate_bias;   // dt_bias
  NormWeights norm;               // of what a head gives
};

struct ShortConvolutionWeights {
  SharedLinear input;  // to b, c and x, (3 D, D)
  CausalConvolution convolution;
};

/// One of these.
struct MixerWeights {
  std::optional<DeltaNetWeights> delta_net;
  std::optional<ShortConvolutionWeights> short_convolution;
  SharedLinear output;  // back to the stream
};

}  // namespace attnscope
