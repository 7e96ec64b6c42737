#include "attnscope/features/common/calibration/second_moments.h"

#include <algorithm>
#include <string>

#include "attnscope/base/error.h"
#include "attnscope/numerics/products/second_moments.h"
#include "attnscope/numerics/vector_loops.h"

namespace attnscope {

Matrix<double> SecondMoments::mean_second() const {
  const std::int64_t n = size();
  const auto count = static_cast<double>(std::max<std::int64_t>(1, rows));
  Matrix<double> out(n, n);
  for (std::int64_t row = 0; row < n; ++row) {
    for (std::int64_t col = 0; col <= row; ++col) {
      out(row, col) = out(col, row) = second(row, col) / count;
    }
  }
  return out;
}

Matrix<double> SecondMoments::mean_second_with_one() const {
  const std::int64_t n = size();
  const Matrix<double> own = mean_second();
  Matrix<double> out(n + 1, n + 1);
  for (std::int64_t row = 0; row < n; ++row) {
    std::copy_n(&own(row, 0), n, &out(row, 0));
    out(row, n) = out(n, row) =
        first[static_cast<std::size_t>(row)] / static_cast<double>(std::max<std::int64_t>(1, rows));
  }
  out(n, n) = 1;
  return out;
}

Role input_of(Role projection) {
  switch (projection) {
    case Role::key:
    case Role::value:
    case Role::query_down:
    case Role::kv_down:
    case Role::attention_gate: return Role::query;
    case Role::gate: return Role::up;
    default: return projection;
  }
}

std::vector<SecondMomentSums::Site> moment_sites(const Model& model) {
  std::vector<SecondMomentSums::Site> sites;
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    if (model.dimensions().attends(layer)) {
      sites.emplace_back(layer, Role::query);
      sites.emplace_back(layer, Role::output);
    }
    if (model.has(Role::up, layer)) {
      sites.emplace_back(layer, Role::up);
      sites.emplace_back(layer, Role::down);
    }
  }
  return sites;
}

namespace {

std::int64_t input_size(const Model& model, const SecondMomentSums::Site& site) {
  const Dimensions& dimensions = model.dimensions(site.first);
  if (site.second == Role::query) return dimensions.attention_streams * dimensions.width;
  if (site.second == Role::up) return dimensions.width;
  return canonical_shape(dimensions, site.second).second;
}

}  // namespace

SecondMomentSums::SecondMomentSums(const Model& model, std::span<const Site> sites) {
  for (const Site& site : sites) {
    const std::int64_t n = input_size(model, site);
    SecondMoments& moments = sums_[site];
    moments.second = Matrix<double>(n, n);
    std::fill_n(moments.second.data(), n * n, 0.0);
    moments.first.assign(static_cast<std::size_t>(n), 0.0);
  }
}

std::uint64_t SecondMomentSums::bytes(const Model& model, std::span<const Site> sites) {
  std::uint64_t total = 0;
  for (const Site& site : sites) {
    const auto n = static_cast<std::uint64_t>(input_size(model, site));
    total += n * (n + 1) * sizeof(double);
  }
  return total;
}

void SecondMomentSums::add(const Site& site, MatrixView<const float> rows, const Compute& compute) {
  if (!all_finite(rows)) {
    return spoil(site, "the input of '" + std::string(role_name(site.second)) + "' of layer " +
                           std::to_string(site.first) + " contains NaN or infinity");
  }
  SecondMoments& moments = sums_.at(site);
  moments.rows += rows.rows;
  add_second_moments(rows, rows, moments.second.view(), compute);
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    for (std::int64_t col = 0; col < rows.cols; ++col) {
      moments.first[static_cast<std::size_t>(col)] += static_cast<double>(rows(row, col));
    }
  }
}

void SecondMomentSums::spoil(const Site& site, const std::string& reason) {
  spoiled_.try_emplace(site, reason);
}

std::vector<SecondMomentSums::Site> SecondMomentSums::sites() const {
  std::vector<Site> out;
  for (const auto& [site, sums] : sums_) out.push_back(site);
  return out;
}

const SecondMoments& SecondMomentSums::of(std::int64_t layer, Role projection) const {
  const Site site{layer, input_of(projection)};
  const auto spoiled = spoiled_.find(site);
  if (spoiled != spoiled_.end()) {
    throw Error(ErrorKind::numerical, {.problem = spoiled->second});
  }
  return sums_.at(site);
}

}  // namespace attnscope
