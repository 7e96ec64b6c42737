// The texts of a plan as examples: lines, or windows with scored positions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attnscope/features/common/calibration/calibration_text.h"
#include "attnscope/features/common/options/example_options.h"

namespace attnscope {

struct PlanExamples {
  std::vector<TokenIds>
      fitted;  // calibration examples, including evaluation examples if `held_out` is empty
  std::optional<std::vector<TokenIds>> held_out;  // from a separate file
  std::string place;                              // the file of `fitted`, for errors
  std::string held_out_source;                    // the file of `held_out`, for errors
};

/// Throws Error(usage) if the positions are a mask, which covers one file, and there is a separate
/// evaluation file.
void refuse_mask_of_two_files(const ScorePositions& positions, bool own_held_out);

/// Adds windows of examples, and which of their tokens count. No window crosses examples. Without
/// evaluation examples, the last tenth is used for evaluation. `tokens`: default number of
/// calibration tokens. Throws Error(usage) if there are too few examples, or if no token counts.
void add_examples(const PlanExamples& examples, const ScorePositions& positions,
                  const PlanWindows& windows, std::int64_t length, std::int64_t tokens,
                  PlanText& text);

}  // namespace attnscope
