// The weights of one layer, as a forward pass reads them of a checkpoint.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/forward/position_bias.h"
#include "attnscope/forward/weights/mixer_weights.h"
#include "attnscope/forward/weights/tensor_reader.h"

namespace attnscope {

class LayerReader : TensorReader {
 public:
  /// `tokens`: that the embedding has rows for. See TensorReader for the rest.
  LayerReader(const Model& model, bool copy_weights, std::int64_t tokens, const Compute& compute)
      : TensorReader(model, copy_weights, compute),
        score_biases_(model, copy_weights, compute),
        mixers_(model, copy_weights, compute),
        tokens_(tokens) {}

  /// Layers are read in order: one that shares weights with an earlier one gets the same. Throws as
  /// TensorReader does.
  LayerWeights read(std::int64_t layer);

  /// Of a model that is the cross attention of a decoder's layers.
  CrossWeights read_cross(std::int64_t layer);

 private:
  /// Of projections stacked by rows. Null where the architecture has none of them.
  SharedLinear projections(std::int64_t layer, std::span<const Role> roles);
  /// A layer whose architecture has biases is not computed without them.
  void require_none(std::int64_t layer, Role role, const Weight& weight) const;
  /// The norm of a layer's queries or keys: gains of all heads, one after another, where each head
  /// has its own.
  OptionalNorm head_norm(std::int64_t layer, Role role) const;
  /// Their own matrices are only located: each must be there.
  ExpertWeights read_experts_of(std::int64_t layer, const ExpertSpec& spec);
  /// What the attention has, or what stands in its place.
  void read_mixing(std::int64_t layer, LayerWeights& out);
  MlaWeights read_mla_weights(std::int64_t layer, const MlaSpec& spec);
  IndexerWeights read_indexer(std::int64_t layer, const IndexerSpec& spec) const;
  std::string name_in(std::int64_t layer, const std::string& pattern) const;
  /// Of any shape with as many values as there are experts: Ernie's is (1, E).
  std::vector<float> choice_bias(std::int64_t layer, const ExpertSpec& spec) const;
  void read_expert_norms(std::int64_t layer, const ExpertNorms& norms, ExpertWeights& out) const;
  PerLayerInputWeights read_own_input(const PerLayerInputSpec& spec, std::int64_t layer) const;
  float output_factor(std::int64_t layer, const std::string& pattern) const;
  /// (D,); empty where the pattern is.
  std::vector<float> factors(std::int64_t layer, const std::string& pattern) const;
  ConvolutionWeights read_convolution(const ConvolutionSpec& spec, std::int64_t layer) const;

  ScoreBiasReader score_biases_;
  MixerReader mixers_;
  std::int64_t tokens_;
  std::map<std::pair<std::vector<const CheckpointTensor*>, Role>, SharedLinear> shared_;
};

}  // namespace attnscope
