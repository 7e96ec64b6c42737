// Prompts with two answers each: of which a model prefers one, and what makes it do so.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/forward/forward_pass.h"

namespace attnscope {

struct AnsweredPrompts {
  std::vector<TokenIds> clean;
  /// As many, each of as many tokens as its clean one, without what decides the answer; or none.
  std::vector<TokenIds> corrupted;
  TokenIds right, wrong;  // a token of each prompt
};

/// The last row of each text, whose rows lie one below the other.
std::vector<std::int64_t> last_rows(std::span<const TokenIds> texts);

/// logit(right) − logit(wrong), of a row of run()'s result for each; `capped`: as logits_into().
/// Throws as finite_logits().
std::vector<double> logit_differences(const ForwardPass& pass, MatrixView<const float> states,
                                      std::span<const std::int64_t> right,
                                      std::span<const std::int64_t> wrong, const Compute& compute,
                                      bool capped = true);

}  // namespace attnscope
