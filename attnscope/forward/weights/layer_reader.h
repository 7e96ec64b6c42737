// Reader of the weights of one layer for a forward pass.
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
  /// `tokens`: rows of the embedding. Other parameters: see TensorReader.
  LayerReader(const Model& model, bool copy_weights, std::int64_t tokens, const Compute& compute)
      : TensorReader(model, copy_weights, compute),
        score_biases_(model, copy_weights, compute),
        mixers_(model, copy_weights, compute),
        tokens_(tokens) {}

  /// Reads a layer. Layers must be read in order: a layer that shares weights with an earlier one
  /// gets the same objects. Throws like TensorReader.
  LayerWeights read(std::int64_t layer);

  /// Reads the cross-attention of a decoder layer. The model must be the cross-attention stack.
  CrossWeights read_cross(std::int64_t layer);

 private:
  /// Reads projections, stacked by rows. Null if the architecture has none of them.
  SharedLinear projections(std::int64_t layer, std::span<const Role> roles);
  /// Throws if the architecture requires this bias, because results without it would be wrong.
  void require_none(std::int64_t layer, Role role, const Weight& weight) const;
  /// Reads the norm of a layer's queries or keys. If each head has its own gains, they are
  /// concatenated.
  OptionalNorm head_norm(std::int64_t layer, Role role) const;
  /// Reads an MoE layer. The matrices of its experts are only located; each must exist.
  ExpertWeights read_experts_of(std::int64_t layer, const ExpertSpec& spec);
  /// Reads the attention, and the mixer that replaces it or is next to it.
  void read_mixing(std::int64_t layer, LayerWeights& out);
  MlaWeights read_mla_weights(std::int64_t layer, const MlaSpec& spec);
  IndexerWeights read_indexer(std::int64_t layer, const IndexerSpec& spec) const;
  std::string name_in(std::int64_t layer, const std::string& pattern) const;
  /// Reads a tensor of any shape with one value per expert: Ernie's is (1, E).
  std::vector<float> choice_bias(std::int64_t layer, const ExpertSpec& spec) const;
  void read_expert_norms(std::int64_t layer, const ExpertNorms& norms, ExpertWeights& out) const;
  PerLayerInputWeights read_own_input(const PerLayerInputSpec& spec, std::int64_t layer) const;
  AltUpWeights read_altup(const AltUpSpec& spec, std::int64_t layer) const;
  SharedBlockWeights read_block(const SharedBlockSpec& spec, std::int64_t layer) const;
  LaurelWeights read_laurel(const LaurelSpec& spec, std::int64_t layer) const;
  PatchMergingWeights read_merging(const PatchMergingSpec& spec, std::int64_t layer) const;
  float output_factor(std::int64_t layer, const std::string& pattern) const;
  /// Returns (D,): the tensor, if there is a pattern, times `factor`. Nothing if all are 1.
  std::vector<float> factors(std::int64_t layer, const std::string& pattern, double factor) const;
  ConvolutionWeights read_convolution(const ConvolutionSpec& spec, std::int64_t layer) const;

  ScoreBiasReader score_biases_;
  MixerReader mixers_;
  std::int64_t tokens_;
  std::map<std::pair<std::vector<const CheckpointTensor*>, Role>, SharedLinear> shared_;
};

}  // namespace attnscope
