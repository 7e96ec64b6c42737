// What is lost where a projection reads from a low-rank latent, as in DeepSeek-V2 (arXiv
// 2405.04434). Definitions: docs/metrics.md.
#pragma once

#include <cstdint>
#include <span>

#include "attnscope/analysis/null_model.h"
#include "attnscope/results/record.h"

namespace attnscope {

/// `rank` at the same share of `width` as it has of `of_width`, to the nearest and at least 1.
std::int64_t rank_at_share(std::int64_t rank, std::int64_t of_width, std::int64_t width);

/// The energy kept at `rank` and at `share_rank`, with the nulls of both, and the energy ranks.
/// `singular_values` descending.
Record latent_fields(std::span<const double> singular_values, const SpectrumShape& shape,
                     std::int64_t rank, std::int64_t share_rank,
                     std::span<const double> thresholds);

}  // namespace attnscope
