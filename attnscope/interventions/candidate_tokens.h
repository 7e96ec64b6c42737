// Tokens as directions in the residual stream: directions that increase a token's logit, and
// directions from which a layer reads a token.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attnscope/forward/forward_pass.h"

namespace attnscope {

enum class TokenBasis {
  write,      // γ_f ∘ W_U[t], centered if the final norm centers
  word,       // n(w_t): the embedding without positions (Elhage et al. 2021)
  embedding,  // n(e_t): the normalized embedding, input of layer 0
  mlp0,       // n(e_t + MLP_0(e_t)): single token after MLP 0 (Wang et al. 2022)
};

/// Applies a norm without its gain to each row: subtracts the mean if the norm centers, then
/// divides by the scale.
void norm_without_gain(const NormSpec& norm, Matrix<float>& rows);

/// Returns why a model has no rows of that basis. Empty if it has.
std::string obstacle_to(const ForwardPass& pass, TokenBasis basis);

/// The rows of tokens in any basis. Thread-safe.
class TokenRows {
 public:
  /// The pass must outlive this object.
  explicit TokenRows(const ForwardPass& pass);

  /// Returns one row per id, (ids, D). e_t is the embedding plus the mean of all learned position
  /// embeddings. n is the norm before layer 0's attention without its gain, if it exists. The
  /// digits of a row do not depend on other rows. Throws like ForwardPass::run().
  Matrix<float> of(TokenBasis basis, const TokenIds& ids, const Compute& compute) const;

 private:
  Matrix<float> written(const TokenIds& ids) const;

  const ForwardPass& pass_;
  std::vector<float> place_;  // mean position embedding
  std::vector<float> gains_;  // gains of the final norm; empty: 1
};

}  // namespace attnscope
