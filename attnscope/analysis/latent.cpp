#include "attnscope/analysis/latent.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "attnscope/analysis/spectrum.h"
#include "attnscope/core/text.h"

namespace attnscope {

std::int64_t rank_at_share(std::int64_t rank, std::int64_t of_width, std::int64_t width) {
  const double share = static_cast<double>(rank) / static_cast<double>(of_width);
  return std::max(std::int64_t{1},
                  static_cast<std::int64_t>(std::llround(share * static_cast<double>(width))));
}

Record latent_fields(std::span<const double> singular_values, const SpectrumShape& shape,
                     std::int64_t rank, std::int64_t share_rank,
                     std::span<const double> thresholds) {
  const NullModel null(shape);
  const SpectrumMeasures measures = measure_spectrum(singular_values, shape, thresholds);
  Record ranks, null_ranks;
  for (std::size_t index = 0; index < thresholds.size(); ++index) {
    const std::string key = shortest_decimal(thresholds[index]);
    ranks.add(key, measures.energy_ranks[index]);
    null_ranks.add(key, null.energy_rank(thresholds[index]));
  }
  return {{"possible_rank", measures.possible_rank},
          {"rank", rank},
          {"energy", energy_at_rank(singular_values, rank)},
          {"null_energy", null.energy_at(rank)},
          {"share_rank", share_rank},
          {"share_energy", energy_at_rank(singular_values, share_rank)},
          {"share_null_energy", null.energy_at(share_rank)},
          {"energy_rank", std::move(ranks)},
          {"null_energy_rank", std::move(null_ranks)}};
}

}  // namespace attnscope
