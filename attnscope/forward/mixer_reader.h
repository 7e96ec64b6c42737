// The weights of a layer that does not attend, as a forward pass reads them of a checkpoint.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attnscope/forward/mixer_weights.h"
#include "attnscope/forward/tensor_reader.h"

namespace attnscope {

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
