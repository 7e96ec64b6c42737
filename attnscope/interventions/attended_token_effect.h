// How much the heads of a model raise the logits of the very tokens that they read.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "attnscope/interventions/linear_unembedding.h"

namespace attnscope {

/// Watches a whole pass that shows its maps. Of each head the mean over queries q of
///   Σ_k A_qk (direct effect of what is read at k on the logit of k's token)_q,
/// in logits. Where `head` counts from the mean row of W_U over a text's tokens, a head that raises
/// all frequent tokens raises none of them here.
class AttendedTokenEffect {
 public:
  AttendedTokenEffect(const ForwardPass& pass, const LinearHead& head,
                      std::span<const TokenIds> sequences, const Compute& compute);

  void add_values(std::int64_t layer, MatrixView<const float> values);
  void add_maps(const LayerMaps& maps);
  void end(MatrixView<const float> last_stream);

  /// Of each sequence and head: (sequences, H), once the pass has ended.
  const Matrix<double>& of_layer(std::int64_t layer) const { return layers_.at(layer).means; }

 private:
  struct Layer {
    Matrix<double> own;    // (H, rows): of each key, before the scale
    Matrix<double> read;   // (H, rows): of each query
    Matrix<double> means;  // (sequences, H)
  };

  const ForwardPass& pass_;
  const LinearHead& head_;
  const Compute& compute_;
  std::vector<std::int64_t> lengths_;
  Matrix<float> directions_;  // of each row's own token
  std::map<std::int64_t, Layer> layers_;
};

}  // namespace attnscope
