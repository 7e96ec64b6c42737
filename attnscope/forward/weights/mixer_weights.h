// Weights of mixers: what layers have instead of attention, or next to it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/forward/weights/forward_weights.h"
#include "attnscope/forward/weights/tensor_reader.h"

namespace attnscope {

/// Causal convolution y(t, c) = Σ_j tap(j, c) x(t − kernel + 1 + j, c) + bias(c). x is 0 before the
/// text.
struct CausalConvolution {
  std::int64_t kernel = 1, channels = 0;
  std::vector<float> taps;  // (kernel, channels)
  std::vector<float> bias;  // empty: none
};

struct DeltaNetWeights {
  DeltaNetSpec spec;
  /// Projection to queries, keys and values of all heads, their gates, and the values b and a of
  /// each value head.
  SharedLinear input;
  CausalConvolution convolution;  // convolution of queries, keys and values
  std::vector<float> rates;       // exp(A_log), one per value head
  std::vector<float> rate_bias;   // dt_bias
  NormWeights norm;               // norm of each head's output
};

struct ShortConvolutionWeights {
  SharedLinear input;  // projection to b, c and x, (3 D, D)
  CausalConvolution convolution;
};

struct KimiDeltaWeights {
  KimiDeltaSpec spec;
  /// Projection to queries, keys, values, the steps of all heads, and the inner dimensions of
  /// decays and gates.
  SharedLinear input;
  SharedLinear decay, gate;       // from the inner dimensions to all channels
  CausalConvolution convolution;  // convolution of queries, keys and values
  std::vector<float> rates;       // exp(A_log), one per head
  std::vector<float> rate_bias;   // dt_bias, one per channel
  NormWeights norm;               // norm of each head's output
};

struct RgLruWeights {
  RgLruSpec spec;
  SharedLinear input, gate;         // linear_x, linear_y
  CausalConvolution convolution;    // convolution of the input
  std::vector<SharedLinear> gates;  // one per block: input gates, then recurrence gates
  std::vector<float> rates;         // 8 softplus(recurrent_param), one per channel
};

struct MambaWeights {
  MambaSpec spec;
  SharedLinear input;  // projection to x and z
  CausalConvolution convolution;
  SharedLinear parameters;  // projection of x to the low-rank step, B and C
  SharedLinear steps;       // projection of the low-rank step to all channels
  NormWeights step_norm, input_norm, output_norm;  // norms of step, B and C
  Matrix<float> rates;                             // −exp(A_log), (n, channels)
  std::vector<float> skip;                         // D, one per channel
};

struct Mamba2Weights {
  Mamba2Spec spec;
  SharedLinear input;             // projection to z, x, B, C and the steps
  CausalConvolution convolution;  // convolution of x, B and C
  std::vector<float> rates;       // −exp(A_log), one per head
  std::vector<float> step_bias;   // dt_bias, one per head
  std::vector<float> skip;        // D, one per head
  std::vector<float> gain;        // of the gated norm, (channels,); empty: no norm
};

struct LightningWeights {
  LightningSpec spec;
  SharedLinear input;         // projection to the queries, keys and values of each head
  SharedLinear gate;          // of the output
  std::vector<float> decays;  // one per head
  NormWeights norm;           // norm of all head outputs
};

/// Weights of a mixer: exactly one of the kinds.
struct MixerWeights {
  std::optional<DeltaNetWeights> delta_net;
  std::optional<ShortConvolutionWeights> short_convolution;
  std::optional<KimiDeltaWeights> kimi_delta;
  std::optional<RgLruWeights> rg_lru;
  std::optional<MambaWeights> mamba;
  std::optional<Mamba2Weights> mamba2;
  std::optional<LightningWeights> lightning;
  SharedLinear output;  // output projection to the residual stream
  float factor = 1;     // factor of its output
};

// Reader of the weights of a mixer.

class MixerReader : TensorReader {
 public:
  using TensorReader::TensorReader;

  /// Throws like TensorReader.
  std::shared_ptr<const MixerWeights> read(std::int64_t layer, const MixerSpec& spec) const;

 private:
  DeltaNetWeights read_delta_net(std::int64_t layer, const DeltaNetSpec& spec) const;
  ShortConvolutionWeights read_short_convolution(std::int64_t layer,
                                                 const ShortConvolutionSpec& spec) const;
  KimiDeltaWeights read_kimi_delta(std::int64_t layer, const KimiDeltaSpec& spec) const;
  RgLruWeights read_rg_lru(std::int64_t layer, const RgLruSpec& spec) const;
  MambaWeights read_mamba(std::int64_t layer, const MambaSpec& spec) const;
  Mamba2Weights read_mamba2(std::int64_t layer, const Mamba2Spec& spec) const;
  LightningWeights read_lightning(std::int64_t layer, const LightningSpec& spec) const;
  std::string name_in(std::int64_t layer, const std::string& pattern) const;
  const CheckpointTensor& matrix(std::int64_t layer, const std::string& name, std::int64_t outputs,
                                 std::int64_t inputs) const;
  SharedLinear stacked(const std::vector<TensorMatrix>& parts, std::vector<float> bias) const;
  /// Reads one matrix, with its bias if the file has one. `biased`: the bias is required.
  SharedLinear whole(std::int64_t layer, const std::string& name, std::int64_t outputs,
                     std::int64_t inputs, bool biased) const;
  std::vector<float> bias_of(std::int64_t layer, const std::string& weight, std::int64_t size,
                             bool biased) const;
  std::vector<float> vector(std::int64_t layer, const std::string& name, std::int64_t size) const;
  /// Reads `size` values of a tensor with any number of axes.
  std::vector<float> numbers(std::int64_t layer, const std::string& name, std::int64_t size) const;
  CausalConvolution convolution(std::int64_t layer, const std::string& name, std::int64_t channels,
                                std::int64_t kernel, bool biased) const;
};

/// Returns the memory for copies of these layers' matrices, in bytes.
std::uint64_t mixer_weights_bytes(const Model& model);

}  // namespace attnscope
