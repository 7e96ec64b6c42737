// Logits as sums of what the parts of a model write: the final norm and the output head, linear
// where the norm's scale is held as a pass had it. Elhage et al. 2021, "direct logit attribution".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attnscope/forward/forward_pass.h"

namespace attnscope {

/// The mean row of W_U, (D,), over the vocabulary or over some tokens.
std::vector<double> mean_output_row(const ForwardPass& pass, const Compute& compute);
std::vector<double> mean_output_row(const ForwardPass& pass, std::span<const std::int64_t> tokens);

/// With the mean of W_U over the vocabulary as `from`,
///   logit[t] − mean over the vocabulary = Σ over parts c of direction(t) · c / s + constant(t),
/// where the stream is the sum of the parts, s is what the final norm divides it by, direction(t)
/// is γ ∘ (W_U[t] − from), its own mean taken out where the norm takes out that of the stream, and
/// constant(t) comes from the norm's bias. A head's own bias and a cap of logits are left out.
class LinearHead {
 public:
  /// Why a model's logits are no such sum; empty where they are.
  static std::string obstacle(const ForwardPass& pass);
  /// Whether what layers add passes norms of its own (Gemma 2): those are held as they were, too.
  static bool norms_branches(const ForwardPass& pass);

  /// The model, which must outlive it, has no obstacle().
  LinearHead(const ForwardPass& pass, std::vector<double> from);

  /// direction() of each token, (tokens, D). −1: zeros.
  Matrix<float> directions(std::span<const std::int64_t> tokens) const;
  double constant(std::int64_t token) const;

  /// What the final norm divides each row of the last stream by.
  std::vector<double> scales(MatrixView<const float> stream) const;

  /// directions (n, D) through a layer's output projection: (n, H d_v), of which what a head gives
  /// has its product with each direction. With what the layer multiplies its branches by. `across`:
  /// through that of the layer's attention to what an encoder gives.
  Matrix<float> through_output(std::int64_t layer, MatrixView<const float> directions,
                               const Compute& compute, bool across = false) const;

 private:
  const ForwardPass& pass_;
  std::vector<double> from_, gain_;  // (D,)
  bool centered_ = false;
};

/// `directions` (n, D) as what a branch of a layer gives, `given` (n, D), meets them: through the
/// norm that it passes before it is added, its scale of each row held as it is. Without such a norm
/// the directions themselves.
Matrix<float> through_norm(const OptionalNorm& norm, MatrixView<const float> given,
                           MatrixView<const float> directions);

/// a · b of two rows, in float64.
double row_product(const float* a, const float* b, std::int64_t size);

}  // namespace attnscope
