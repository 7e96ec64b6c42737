// The text of a plan as examples: lines, or windows of which only some tokens count.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attnscope/features/common/calibration/calibration_text.h"
#include "attnscope/features/common/options/example_options.h"

namespace attnscope {

struct PlanExamples {
  std::vector<TokenIds> fitted;                   // to fit to; all of them if none are held out
  std::optional<std::vector<TokenIds>> held_out;  // of a file of their own
  std::string place;                              // the file of `fitted`, in errors
  std::string held_out_source;                    // and that of `held_out`
};

/// Throws Error(usage) if the positions are a mask, which is of one file, and another is held out.
void refuse_mask_of_two_files(const ScorePositions& positions, bool own_held_out);

/// Adds windows of examples, which they never cross, and which of their tokens count. Without
/// held-out examples the last tenth is held out. `tokens`: how many are fitted to by default.
/// Throws Error(usage) if there are too few, or no token counts.
void add_examples(const PlanExamples& examples, const ScorePositions& positions,
                  const PlanWindows& windows, std::int64_t length, std::int64_t tokens,
                  PlanText& text);

}  // namespace attnscope
