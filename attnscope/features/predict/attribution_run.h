// Direct logit attribution: what each component of a model adds to a logit.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attnscope/engine/context.h"
#include "attnscope/features/common/prompt.h"
#include "attnscope/features/common/prompt_preference.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// Which logit is attributed.
struct AskedTokens {
  std::optional<std::int64_t> token;    // at the text's end; none: each next token of the text
  std::optional<std::int64_t> against;  // minus the logit of this one; none: minus the mean of all
};

struct AttributionRequest {
  std::vector<Prompt> prompts;     // of each model
  std::vector<AskedTokens> asked;  // of each model
  Record text;
};

/// Throws Error(unsupported) if logits are not a sum of what components write.
void check_attributable(const ForwardPass& pass);

/// Rows: what each part of a model adds to the logit, mean over places. Throws as
/// check_predicts_tokens(), and Error(unsupported) if logits are not a sum of what components
/// write.
void run_attribution(std::span<const Model> models, const AttributionRequest& request,
                     const Context& context, RowSink& sink);

/// Rows: what each part adds to how much the right answers' logits are above the wrong ones', mean
/// over prompts. Throws as check_answers() and check_attributable().
void run_attribution_prompts(std::span<const Model> models, const PromptsRequest& request,
                             const Context& context, RowSink& sink);

}  // namespace attnscope
