// Direct logit attribution: logits as sums of component outputs. The final norm and the LM head are
// linear with the norm's scale frozen. Elhage et al. 2021.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attnscope/forward/forward_pass.h"

namespace attnscope {

/// Returns the mean row of W_U, (D,), over the vocabulary (for a classifier: over its labels) or
/// over some tokens.
std::vector<double> mean_output_row(const ForwardPass& pass, const Compute& compute);
std::vector<double> mean_output_row(const ForwardPass& pass, std::span<const std::int64_t> tokens);

/// With the mean of W_U over the vocabulary as `from`,
///   logit[t] − mean over the vocabulary = Σ_c direction(t) · c / s + constant(t).
/// The sum is over the components c of the residual stream; s is the divisor of the final norm.
/// direction(t) = γ ∘ (W_U[t] − from), minus its own mean if the norm centers. constant(t) comes
/// from the norm's bias. The bias of the LM head and a cap on logits are not included.
class LinearHead {
 public:
  /// Returns why a model's logits are not such a sum. Empty if they are.
  static std::string obstacle(const ForwardPass& pass);
  /// The same for the logits of a sequence classifier's labels.
  static std::string label_obstacle(const ForwardPass& pass);
  /// Returns whether attention or MLP outputs pass norms of their own (Gemma 2). Their scales are
  /// then frozen, too.
  static bool norms_branches(const ForwardPass& pass);

  /// Requires a model without obstacle(), or a classifier without label_obstacle(), whose labels
  /// then replace the tokens. The model must outlive this object.
  LinearHead(const ForwardPass& pass, std::vector<double> from);

  /// Returns direction() of each token, (tokens, D). Token −1 gives zeros.
  Matrix<float> directions(std::span<const std::int64_t> tokens) const;
  double constant(std::int64_t token) const;

  /// Returns the divisor of the final norm for each row of the last residual stream.
  std::vector<double> scales(MatrixView<const float> stream) const;

  /// Maps directions (n, D) back through a layer's output projection, to (n, H d_v), including the
  /// factor of the layer's branches. The product with a head's values is the head's direct effect.
  /// `across`: uses the output projection of the layer's cross-attention.
  Matrix<float> through_output(std::int64_t layer, MatrixView<const float> directions,
                               const Compute& compute, bool across = false) const;

 private:
  const ForwardPass& pass_;
  std::vector<double> from_, gain_;  // (D,)
  bool centered_ = false;
};

/// Maps `directions` (n, D) back through the norm that follows a branch of a layer. The norm's
/// scale of each row is frozen at its value for the branch output `given` (n, D). Without such a
/// norm, returns the directions unchanged.
Matrix<float> through_norm(const OptionalNorm& norm, MatrixView<const float> given,
                           MatrixView<const float> directions);

/// Returns the inner product of two rows, summed in float64.
double row_product(const float* a, const float* b, std::int64_t size);

}  // namespace attnscope
