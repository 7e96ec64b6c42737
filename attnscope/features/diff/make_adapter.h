// Creates a LoRA adapter from the difference of two models.
#pragma once

#include <cstdint>
#include <optional>

#include "attnscope/engine/context.h"
#include "attnscope/features/diff/adapter.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// Rank of the factors of an adapter.
struct AdapterRank {
  double energy = 0.9;  // share of the energy that each keeps; ignored if `rank` is set
  std::optional<std::int64_t> rank;  // rank of all factors
};

/// Returns the adapter that converts `base` to `tuned`, up to its ranks: the top singular vectors
/// of W_tuned − W_base, and other changed tensors in full. Adds notes about changes that it cannot
/// contain. Throws Error(numerical) if nothing changed, Error(unsupported) if experts changed.
Adapter make_adapter(const Model& base, const Model& tuned, const AdapterRank& rank,
                     const Context& context, RowSink& notes);

}  // namespace attnscope
