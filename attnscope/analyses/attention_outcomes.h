// What the maps of one layer said, as stores keep it, and the rows that it makes.
#pragma once

#include <cstdint>
#include <span>

#include "attnscope/analysis/attention_map.h"
#include "attnscope/analysis/even_attention.h"
#include "attnscope/results/outcome.h"
#include "attnscope/results/sink.h"
#include "attnscope/run/rows.h"

namespace attnscope {

/// The measures of one layer's maps: of each head of a sequence, then of the next one. `even`: what
/// its rows have beside them; all sequences have its number of tokens.
Outcome attention_outcome(std::int64_t layer, std::int64_t heads,
                          std::span<const AttentionMapMeasures> maps, const EvenAttention& even,
                          const AttentionMapOptions& options);

/// Adds up such outcomes, model by model: each layer's heads, then the layer. The same order of
/// sequences gives the same digits.
RowMaker attention_row_maker(RowSink& sink);

}  // namespace attnscope
