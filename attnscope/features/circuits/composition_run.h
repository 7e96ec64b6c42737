// Composition of heads: `circuits --composition`.
#pragma once

#include <span>

#include "attnscope/engine/analysis.h"
#include "attnscope/engine/context.h"
#include "attnscope/features/circuits/run.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

const Analysis& composition_analysis();

/// How much of what an earlier head writes a later one reads, by its queries, keys or values:
/// every head of every chosen layer with every head of every later one. Rows by model, later layer,
/// earlier layer, kind, later head, earlier head. Needs both circuits; biases are refused.
void run_composition(std::span<const Model> models, const CircuitsRequest& request,
                     const Context& context, RowSink& sink);

}  // namespace attnscope
