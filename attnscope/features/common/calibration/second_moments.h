// Second moments of the inputs of a model's matrices on a text: the statistics that compression is
// calibrated on.
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

/// Moments of one input: `second` (n, n) = Σ x xᵀ and `first` (n,) = Σ x over `rows` tokens.
struct SecondMoments {
  std::int64_t rows = 0;
  Matrix<double> second;
  std::vector<double> first;

  std::int64_t size() const { return second.rows(); }
  /// A view for low_rank_fit.h without a copy; valid as long as this object.
  MeanMoments mean(double ridge = 0) const {
    return {.sums = second.view(), .rows = rows, .ridge = ridge};
  }
  /// Mean of x xᵀ, (n, n).
  Matrix<double> mean_second() const;
  /// The same for (x, 1), (n + 1, n + 1): for matrices whose bias is a column.
  Matrix<double> mean_second_with_one() const;
};

/// The role whose input a projection shares: `query` for W_K and W_V, `up` for W_gate.
Role input_of(Role projection);

/// Sums of several inputs over batches. Not thread-safe.
class SecondMomentSums {
 public:
  /// An input: layer and role.
  using Site = std::pair<std::int64_t, Role>;
  SecondMomentSums(const Model& model, std::span<const Site> sites);

  /// Memory in bytes.
  static std::uint64_t bytes(const Model& model, std::span<const Site> sites);

  bool has(const Site& site) const { return sums_.contains(site); }
  /// Adds a batch of rows (rows, n), as add_second_moments() does. Rows with NaN or infinity make
  /// the sums of the input invalid.
  void add(const Site& site, MatrixView<const float> rows, const Compute& compute);
  /// Marks the sums of an input as invalid; of() throws this reason.
  void spoil(const Site& site, const std::string& reason);
  bool are_spoiled() const { return !spoiled_.empty(); }  // of any input
  /// Replaces the sums of an input by those of an earlier run.
  void replace(const Site& site, SecondMoments moments) { sums_.at(site) = std::move(moments); }
  /// The inputs that are summed.
  std::vector<Site> sites() const;

  /// Throws Error(numerical) if the sums are invalid.
  const SecondMoments& of(std::int64_t layer, Role projection) const;

 private:
  std::map<Site, SecondMoments> sums_;
  std::map<Site, std::string> spoiled_;  // reasons
};

/// All inputs of the model's layers that have a projection to compress, in order.
std::vector<SecondMomentSums::Site> moment_sites(const Model& model);

}  // namespace attnscope
