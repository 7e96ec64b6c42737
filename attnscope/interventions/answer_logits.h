// Prompts with a correct and an incorrect answer, and the logit difference between them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/forward/forward_pass.h"

namespace attnscope {

struct AnsweredPrompts {
  std::vector<TokenIds> clean;
  /// One corrupted prompt per clean prompt, with the same number of tokens, without the information
  /// that decides the answer. Or empty.
  std::vector<TokenIds> corrupted;
  TokenIds right, wrong;  // one answer token per prompt
};

/// Returns the last row of each text in a matrix with the rows of all texts.
std::vector<std::int64_t> last_rows(std::span<const TokenIds> texts);

/// Returns logit(correct) − logit(incorrect) for each row of run()'s result. `capped`: as in
/// logits_into(). Throws like finite_logits().
std::vector<double> logit_differences(const ForwardPass& pass, MatrixView<const float> states,
                                      std::span<const std::int64_t> right,
                                      std::span<const std::int64_t> wrong, const Compute& compute,
                                      bool capped = true);

}  // namespace attnscope
