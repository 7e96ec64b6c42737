// Measures of the singular values of one matrix. Definitions: docs/metrics.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/features/spectrum/random_baseline.h"
#include "attnscope/numerics/svd/singular_values.h"
#include "attnscope/rows/record.h"

namespace attnscope {

struct SpectrumMeasures {
  std::vector<std::int64_t> energy_ranks;  // one for each threshold
  double stable_rank = 0;              // Σσ² / σ_1²               Rudelson & Vershynin 2007
  double effective_rank = 0;           // exp(-Σ p ln p), p = σ/Σσ  Roy & Vetterli 2007
  double participation_ratio = 0;      // (Σσ²)² / Σσ⁴
  std::int64_t numerical_rank = 0;     // #{σ > max(m, n) ε σ_1}, ε by resolution
  std::int64_t max_possible_rank = 0;  // k
  double spectral_norm = 0;            // σ_1
  double frobenius_norm = 0;           // sqrt(Σσ²)
  double nuclear_norm = 0;             // Σσ
  std::optional<double> condition_number;  // σ_1 / σ_k; none if σ_k is not resolved
};

/// Smallest r with σ_1² + … + σ_r² >= threshold * Σσ², 0 < threshold < 1; 0 for a zero matrix.
/// `singular_values` descending.
std::int64_t energy_rank(std::span<const double> singular_values, double threshold);

/// Whether errors of up to `error` Σσ² in the sums of squares could change energy_rank.
bool energy_rank_in_doubt(std::span<const double> singular_values, double threshold, double error);

/// (σ_1² + … + σ_r²) / Σσ² for r = 1 … k; empty for a zero matrix.
std::vector<double> cumulative_energy(std::span<const double> singular_values);

/// `singular_values`: k values, descending; `shape`: of the matrix. All ranks of a zero matrix are
/// 0. ε is 2^-23 or 2^-52 by the resolution, as NumPy's matrix_rank derives it from the dtype.
SpectrumMeasures measure_spectrum(std::span<const double> singular_values,
                                  const SpectrumShape& shape, std::span<const double> thresholds,
                                  Resolution resolution = Resolution::float32);

/// (σ_1² + … + σ_r²) / Σσ² at one rank; 1 above k, none for a zero matrix.
std::optional<double> energy_at_rank(std::span<const double> singular_values, std::int64_t rank);

/// A rank at which the energy is reported, and its name in rows.
struct NamedRank {
  std::string name;
  std::int64_t rank = 0;  // at least 1
};

/// Contents of a spectrum row.
struct SpectrumFields {
  std::vector<double> thresholds;  // thresholds of the energy ranks
  std::vector<NamedRank> ranks;    // none: no `energy_at_rank`
  bool with_values = false;        // include singular values and cumulative energy
};

/// Adds the fields of a spectrum row after its identifiers: shape, ranks and their random
/// baselines, norms, and what else `wanted` requests.
void add_spectrum_fields(Record& row, const SingularValues& singular, const SpectrumShape& shape,
                         const SpectrumFields& wanted);

// Energy lost if a projection reads from a low-rank latent, as in DeepSeek-V2 (arXiv 2405.04434).
// Definitions: docs/metrics.md.

/// Scales `rank` from hidden size `of_width` to `width`, rounded to the nearest integer, at least
/// 1.
std::int64_t rank_at_share(std::int64_t rank, std::int64_t of_width, std::int64_t width);

/// The energy kept at `rank` and at `share_rank`, with random baselines, and the energy ranks.
/// `singular_values` descending.
Record mla_fields(std::span<const double> singular_values, const SpectrumShape& shape,
                  std::int64_t rank, std::int64_t share_rank, std::span<const double> thresholds);

}  // namespace attnscope
