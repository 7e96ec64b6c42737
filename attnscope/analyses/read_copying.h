// Whether heads copy the tokens that they read, from the weights alone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "attnscope/analyses/token_products.h"

namespace attnscope {

struct CopyingScores {
  std::optional<double> token;  // of what its layer reads of tokens that may name, less their mean
  std::optional<double> full;  // Elhage et al. 2021: of all tokens' embeddings, biases of norms too
};

/// Of one head after another. Products over the vocabulary are computed once.
class HeadCopying {
 public:
  /// `naming`: the tokens that may name. All must outlive this.
  HeadCopying(const ForwardPass& pass, const TokenIds& naming, const Compute& compute)
      : pass_(pass), naming_(naming), compute_(compute) {}

  /// `factors`: of the head's OV, the norm before it folded in and its means taken out. `inputs`:
  /// what its layer reads.
  CopyingScores of(const CircuitFactors& factors, std::int64_t layer, std::int64_t head,
                   TokenBasis inputs);

 private:
  const Matrix<double>& product_of(TokenBasis inputs);
  const TokenProduct& all_tokens();
  /// Of each of the layer's heads, W_V times the bias of the norm before it; empty without one.
  const std::vector<std::vector<double>>& values_of_bias(std::int64_t layer);

  const ForwardPass& pass_;
  const TokenIds& naming_;
  const Compute& compute_;
  std::map<TokenBasis, Matrix<double>> products_;
  std::optional<TokenProduct> all_;
  std::map<std::int64_t, std::vector<std::vector<double>>> biases_;  // by layer
};

}  // namespace attnscope
