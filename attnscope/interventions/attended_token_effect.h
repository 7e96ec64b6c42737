// Direct effect of each head on the logits of the tokens it attends to.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "attnscope/interventions/linear_unembedding.h"

namespace attnscope {

/// Observes a complete forward pass with attention maps. For each head, computes the mean over
/// queries q of
///   Σ_k A_qk (direct effect of the value at k on the logit of k's token)_q,
/// in logits. If `head` is relative to the mean row of W_U over a text's tokens, a head that
/// raises all frequent tokens equally has no effect here.
class AttendedTokenEffect {
 public:
  AttendedTokenEffect(const ForwardPass& pass, const LinearHead& head,
                      std::span<const TokenIds> sequences, const Compute& compute);

  void add_values(std::int64_t layer, MatrixView<const float> values);
  void add_maps(const LayerMaps& maps);
  void end(MatrixView<const float> last_stream);

  /// Returns the effect for each sequence and head, (sequences, H), after the end of the pass.
  const Matrix<double>& of_layer(std::int64_t layer) const { return layers_.at(layer).means; }

 private:
  struct Layer {
    Matrix<double> own;    // (H, rows): effect of each key, before the scale
    Matrix<double> read;   // (H, rows): effect at each query
    Matrix<double> means;  // (sequences, H)
  };

  const ForwardPass& pass_;
  const LinearHead& head_;
  const Compute& compute_;
  std::vector<std::int64_t> lengths_;
  Matrix<float> directions_;  // for the token of each row
  std::map<std::int64_t, Layer> layers_;
};

}  // namespace attnscope
