// Tokens as directions of the stream: what a unit written adds to their logits, and what they are
// to a layer that reads them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attnscope/forward/forward_pass.h"

namespace attnscope {

enum class TokenBasis {
  write,      // γ_f ∘ W_U[t], the mean out where the final norm takes it out
  word,       // n(w_t), the embedding without positions (Elhage et al. 2021)
  embedding,  // n(e_t), the normed embedding of layer 0
  mlp0,       // n(e_t + MLP_0(e_t)), what later layers read of a token alone (Wang et al. 2022)
};

/// Rows less their means where the norm takes them out, divided by their scale: n without its gain.
void norm_without_gain(const NormSpec& norm, Matrix<float>& rows);

/// Why a model has no rows of that basis; empty where it has.
std::string obstacle_to(const ForwardPass& pass, TokenBasis basis);

/// The rows of tokens in any basis. Several threads may ask at once.
class TokenRows {
 public:
  /// The pass must outlive it.
  explicit TokenRows(const ForwardPass& pass);

  /// (ids, D), row by row. e_t: the embedding with the mean of all learned positions; n: the norm
  /// before layer 0's attention without its gain, where there is one. A row's digits do not depend
  /// on other rows. Throws as ForwardPass::run().
  Matrix<float> of(TokenBasis basis, const TokenIds& ids, const Compute& compute) const;

 private:
  Matrix<float> written(const TokenIds& ids) const;

  const ForwardPass& pass_;
  std::vector<float> place_;  // what the mean position adds
  std::vector<float> gains_;  // of the final norm; empty: 1
};

}  // namespace attnscope
