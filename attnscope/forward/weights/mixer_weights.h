// What a forward pass reads of layers that do not attend.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/forward/weights/forward_weights.h"
#include "attnscope/forward/weights/tensor_reader.h"

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

// The weights of a layer that does not attend, as a forward pass reads them of a checkpoint.

class MixerReader : TensorReader {
 public:
  using TensorReader::TensorReader;

  /// Throws as TensorReader does.
  std::shared_ptr<const MixerWeights> read(std::int64_t layer, const MixerSpec& spec) const;

 private:
  DeltaNetWeights read_delta_net(std::int64_t layer, const DeltaNetSpec& spec) const;
  ShortConvolutionWeights read_short_convolution(std::int64_t layer,
                                                 const ShortConvolutionSpec& spec) const;
  std::string name_in(std::int64_t layer, const std::string& pattern) const;
  const CheckpointTensor& matrix(std::int64_t layer, const std::string& name, std::int64_t outputs,
                                 std::int64_t inputs) const;
  SharedLinear stacked(const std::vector<TensorMatrix>& parts, std::vector<float> bias) const;
  /// One whole matrix, with its bias if the file has one. `biased`: it must.
  SharedLinear whole(std::int64_t layer, const std::string& name, std::int64_t outputs,
                     std::int64_t inputs, bool biased) const;
  std::vector<float> bias_of(std::int64_t layer, const std::string& weight, std::int64_t size,
                             bool biased) const;
  std::vector<float> vector(std::int64_t layer, const std::string& name, std::int64_t size) const;
  CausalConvolution convolution(std::int64_t layer, const std::string& name, std::int64_t channels,
                                std::int64_t kernel, bool biased) const;
};

/// What copies of these layers' matrices take in memory, in bytes.
std::uint64_t mixer_weights_bytes(const Model& model);

}  // namespace attnscope
