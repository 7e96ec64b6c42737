#include "attnscope/features/spectrum/measures.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "attnscope/base/text.h"

namespace attnscope {
namespace {

/// Tolerance for sums that equal their threshold except for rounding: the identity of order 10 has
/// energy rank 9 at 0.9 in exact arithmetic.
constexpr double kRounding = 1e-12;

/// Running Σ (σ/σ_1)², largest first; relative to σ_1 so that nothing overflows.
std::vector<double> running_energy(std::span<const double> singular_values) {
  std::vector<double> running;
  running.reserve(singular_values.size());
  double sum = 0;
  for (const double value : singular_values) {
    const double share = value / singular_values.front();
    sum += share * share;
    running.push_back(sum);
  }
  return running;
}

bool is_zero(std::span<const double> singular_values) {
  return singular_values.empty() || singular_values.front() == 0;
}

std::int64_t rank_at(std::span<const double> running, double threshold) {
  const double wanted = threshold * running.back() * (1 - kRounding);
  return std::lower_bound(running.begin(), running.end(), wanted) - running.begin() + 1;
}

}  // namespace

std::int64_t energy_rank(std::span<const double> singular_values, double threshold) {
  if (is_zero(singular_values)) return 0;
  return rank_at(running_energy(singular_values), threshold);
}

bool energy_rank_in_doubt(std::span<const double> singular_values, double threshold, double error) {
  if (is_zero(singular_values)) return false;
  const std::vector<double> running = running_energy(singular_values);
  const double total = running.back(), wanted = threshold * total * (1 - kRounding);
  const auto reached = std::lower_bound(running.begin(), running.end(), wanted - error * total);
  return reached != running.end() && *reached <= wanted + error * total;
}

std::vector<double> cumulative_energy(std::span<const double> singular_values) {
  if (is_zero(singular_values)) return {};
  std::vector<double> running = running_energy(singular_values);
  const double total = running.back();
  for (double& energy : running) energy /= total;
  return running;
}

SpectrumMeasures measure_spectrum(std::span<const double> singular_values,
                                  const SpectrumShape& shape, std::span<const double> thresholds,
                                  Resolution resolution) {
  SpectrumMeasures out{.energy_ranks = std::vector<std::int64_t>(thresholds.size(), 0),
                       .max_possible_rank = std::ssize(singular_values)};
  if (is_zero(singular_values)) return out;

  const std::vector<double> running = running_energy(singular_values);
  for (std::size_t index = 0; index < thresholds.size(); ++index) {
    out.energy_ranks[index] = rank_at(running, thresholds[index]);
  }
  const double largest = singular_values.front();
  const double smallest = singular_values.back();
  const double sum = std::reduce(singular_values.begin(), singular_values.end(), 0.0);
  double fourth_powers = 0, entropy = 0;
  for (const double value : singular_values) {
    const double share = value / largest;
    fourth_powers += share * share * share * share;
    const double p = value / sum;
    entropy -= p > 0 ? p * std::log(p) : 0;
  }
  const double energy = running.back();  // in units of σ_1²
  out.stable_rank = energy;
  out.effective_rank = std::exp(entropy);
  out.participation_ratio = energy * energy / fourth_powers;
  const bool is_float64 = resolution == Resolution::float64;
  const double epsilon = is_float64 ? 0x1p-52 : 0x1p-23;
  const double cut = static_cast<double>(std::max(shape.rows, shape.cols)) * epsilon * largest;
  out.numerical_rank = std::count_if(singular_values.begin(), singular_values.end(),
                                     [&](double value) { return value > cut; });
  out.spectral_norm = largest;
  out.frobenius_norm = largest * std::sqrt(energy);
  out.nuclear_norm = sum;
  // Below these limits, the solver may not resolve singular values.
  const bool is_resolved = is_float64 ? smallest > cut : smallest >= 1e-6 * largest;
  if (is_resolved) out.condition_number = largest / smallest;
  return out;
}

std::optional<double> energy_at_rank(std::span<const double> singular_values, std::int64_t rank) {
  if (is_zero(singular_values)) return std::nullopt;
  if (rank >= std::ssize(singular_values)) return 1;
  const std::vector<double> running = running_energy(singular_values);
  return running[static_cast<std::size_t>(rank - 1)] / running.back();
}

void add_spectrum_fields(Record& row, const SingularValues& singular, const SpectrumShape& shape,
                         const SpectrumFields& wanted) {
  const std::vector<double>& singular_values = singular.values;
  const SpectrumMeasures measures =
      measure_spectrum(singular_values, shape, wanted.thresholds, singular.resolution);
  const RandomBaseline baseline(shape);
  Record ranks, random_ranks;
  for (std::size_t index = 0; index < wanted.thresholds.size(); ++index) {
    const std::string key = shortest_decimal(wanted.thresholds[index]);
    ranks.add(key, measures.energy_ranks[index]);
    random_ranks.add(key, baseline.energy_rank(wanted.thresholds[index]));
  }
  row.add("shape", std::vector<std::int64_t>{shape.rows, shape.cols})
      .add("energy_rank", std::move(ranks))
      .add("random_energy_rank", std::move(random_ranks));
  if (!wanted.ranks.empty()) {
    Record energies, random_energies;
    for (const NamedRank& at : wanted.ranks) {
      energies.add(at.name, energy_at_rank(singular_values, at.rank));
      random_energies.add(at.name, baseline.energy_at(at.rank));
    }
    row.add("energy_at_rank", std::move(energies))
        .add("random_energy_at_rank", std::move(random_energies));
  }
  row.add("stable_rank", measures.stable_rank)
      .add("effective_rank", measures.effective_rank)
      .add("participation_ratio", measures.participation_ratio)
      .add("numerical_rank", measures.numerical_rank)
      .add("max_possible_rank", measures.max_possible_rank)
      .add("spectral_norm", measures.spectral_norm)
      .add("frobenius_norm", measures.frobenius_norm)
      .add("nuclear_norm", measures.nuclear_norm)
      .add("condition_number", measures.condition_number);
  if (!wanted.with_values) return;
  row.add("singular_values", singular_values)
      .add("cumulative_energy", cumulative_energy(singular_values))
      .add("random_singular_values", baseline.singular_values(measures.frobenius_norm));
}

std::int64_t rank_at_share(std::int64_t rank, std::int64_t of_width, std::int64_t width) {
  const double share = static_cast<double>(rank) / static_cast<double>(of_width);
  return std::max(std::int64_t{1},
                  static_cast<std::int64_t>(std::llround(share * static_cast<double>(width))));
}

Record mla_fields(std::span<const double> singular_values, const SpectrumShape& shape,
                  std::int64_t rank, std::int64_t share_rank, std::span<const double> thresholds) {
  const RandomBaseline baseline(shape);
  const SpectrumMeasures measures = measure_spectrum(singular_values, shape, thresholds);
  Record ranks, random_ranks;
  for (std::size_t index = 0; index < thresholds.size(); ++index) {
    const std::string key = shortest_decimal(thresholds[index]);
    ranks.add(key, measures.energy_ranks[index]);
    random_ranks.add(key, baseline.energy_rank(thresholds[index]));
  }
  return {{"max_possible_rank", measures.max_possible_rank},
          {"rank", rank},
          {"energy", energy_at_rank(singular_values, rank)},
          {"random_energy", baseline.energy_at(rank)},
          {"share_rank", share_rank},
          {"share_energy", energy_at_rank(singular_values, share_rank)},
          {"share_random_energy", baseline.energy_at(share_rank)},
          {"energy_rank", std::move(ranks)},
          {"random_energy_rank", std::move(random_ranks)}};
}

}  // namespace attnscope
