// Second moments of what the matrices of a model read on a text: what a smaller model is fitted to.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/base/role.h"
#include "attnscope/features/common/calibration/low_rank_fit.h"
#include "attnscope/forward/forward_pass.h"

namespace attnscope {

/// Of one input: `second` (n, n) = Σ x xᵀ and `first` (n,) = Σ x over `rows` tokens.
struct SecondMoments {
  std::int64_t rows = 0;
  Matrix<double> second;
  std::vector<double> first;

  std::int64_t size() const { return second.rows(); }
  /// What is made of it without a copy; while this is.
  MeanMoments mean(double ridge = 0) const {
    return {.sums = second.view(), .rows = rows, .ridge = ridge};
  }
  /// Mean of x xᵀ, (n, n).
  Matrix<double> mean_second() const;
  /// The same of (x, 1), (n + 1, n + 1): of matrices whose bias is a column.
  Matrix<double> mean_second_with_one() const;
};

/// The role whose input a projection reads: `query` of W_K and W_V, `up` of W_gate.
Role input_of(Role projection);

/// The sums of several inputs, of one batch after another. Not for several threads.
class SecondMomentSums {
 public:
  /// What is summed: of which layer and role.
  using Site = std::pair<std::int64_t, Role>;
  SecondMomentSums(const Model& model, std::span<const Site> sites);

  /// What it holds, in bytes.
  static std::uint64_t bytes(const Model& model, std::span<const Site> sites);

  bool has(const Site& site) const { return sums_.contains(site); }
  /// Adds a batch of rows (rows, n). Sums as add_second_moments() has them. Rows with NaN or
  /// infinity spoil them.
  void add(const Site& site, MatrixView<const float> rows, const Compute& compute);
  /// There are no sums of it, for this reason: of() throws it.
  void spoil(const Site& site, const std::string& reason);
  bool are_spoiled() const { return !spoiled_.empty(); }  // any
  /// Puts what an earlier run summed in place of a site's sums.
  void replace(const Site& site, SecondMoments moments) { sums_.at(site) = std::move(moments); }
  /// Those of which there are sums, or are to be.
  std::vector<Site> sites() const;

  /// Throws Error(numerical) where they were spoiled.
  const SecondMoments& of(std::int64_t layer, Role projection) const;

 private:
  std::map<Site, SecondMoments> sums_;
  std::map<Site, std::string> spoiled_;  // why
};

/// Every input of the model's layers that has a projection to shrink, in order.
std::vector<SecondMomentSums::Site> moment_sites(const Model& model);

}  // namespace attnscope
