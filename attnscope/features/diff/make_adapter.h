// A LoRA adapter from the difference of two models.
#pragma once

#include <cstdint>
#include <optional>

#include "attnscope/engine/context.h"
#include "attnscope/features/diff/adapter.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// How large the factors of an adapter are.
struct AdapterRank {
  double energy = 0.9;               // share of the squared sum that each keeps, unless
  std::optional<std::int64_t> rank;  // all have this one
};

/// The adapter that makes `tuned` of `base`, as far as its ranks go: W_tuned - W_base by its
/// singular vectors, and whole what is no linear layer. `notes` is told what it cannot hold. Throws
/// Error(numerical) where nothing changed, Error(unsupported) where experts did.
Adapter make_adapter(const Model& base, const Model& tuned, const AdapterRank& rank,
                     const Context& context, RowSink& notes);

}  // namespace attnscope
