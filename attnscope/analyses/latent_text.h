// A text for commands that read weights: what the norms of latents divide by on it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "attnscope/results/record.h"
#include "attnscope/results/sink.h"
#include "attnscope/run/context.h"
#include "attnscope/run/runner.h"
#include "attnscope/tokens/token_ids.h"

namespace attnscope {

struct LatentText {
  std::vector<std::vector<TokenIds>> sequences;  // of each model, all of one length
  Record parameters;                             // what the report says of them
};

/// Throws Error(usage) where none of the models has latents: their weights depend on no text.
void check_latents(std::span<const Model> models);

/// Adds to a report's parameters where the text comes from, and to those of its items which it is.
void add_text_parameters(Record& report, Record& of_items, const std::optional<LatentText>& text);

/// Runs the models that have latents, and gives the plan's items of each layer the mean over all
/// tokens of what its norms divided by, √(mean of squares + ε). Does nothing without a text. Adds a
/// note if the text is longer than a model's context.
void measure_latents(Plan& plan, std::span<const Model> models,
                     const std::optional<LatentText>& text, const Context& context, RowSink& sink);

}  // namespace attnscope
