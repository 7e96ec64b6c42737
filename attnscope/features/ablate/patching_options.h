// Options of `ablate --prompts` for patching at positions and for its metric.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attnscope/features/common/options/example_options.h"
#include "attnscope/features/common/options/prompts_file.h"
#include "attnscope/interventions/position_patching.h"

namespace attnscope {

/// patch_positions, metric, patching.
Parameters patching_parameters();
/// Whether one of them is given.
bool asks_for_patching(const Arguments& arguments);
/// Throws Error(usage) if one of them, or a component that only patching has, is given without
/// prompts.
void refuse_patching_without_prompts(const Arguments& arguments);

/// Tokens of every prompt that are patched together, and their name in rows.
struct NamedPlace {
  std::optional<std::int64_t> position;  // negative: from the end; empty: several, or labeled
  std::string label;                     // of the prompt file; empty: none
  PatchedPlace rows;                     // per prompt, ascending
};

/// Returns the places that `patch_positions` selects: all tokens together, each position, selected
/// positions, or with labels in the prompt file each label. Throws Error(usage) if prompts differ
/// in length and positions do not correspond.
std::vector<NamedPlace> patched_places(const std::string& selection,
                                       const std::vector<TokenIds>& prompts,
                                       const std::vector<PromptLabels>& labels);

/// Returns the rows whose predictions are scored. The text of a prompt is the clean prompt followed
/// by the correct answer; `score_positions` selects tokens of it, by default the answer. Throws
/// Error(usage) if the metric needs the answer and other tokens are selected.
PromptMeasure prompt_measure(PromptMetric metric, const ScorePositions& scored,
                             const std::vector<TokenIds>& prompts);

}  // namespace attnscope
