// Composition scores of heads: `circuits --composition`.
#pragma once

#include <span>

#include "attnscope/engine/analysis.h"
#include "attnscope/engine/context.h"
#include "attnscope/features/circuits/run.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

const Analysis& composition_analysis();

/// Computes Q-, K- and V-composition of every head of every selected layer with every head of every
/// later one. Rows by model, later layer, earlier layer, type, later head, earlier head. Needs both
/// circuits. Refuses biases.
void run_composition(std::span<const Model> models, const CircuitsRequest& request,
                     const Context& context, RowSink& sink);

}  // namespace attnscope
