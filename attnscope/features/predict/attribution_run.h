// Direct logit attribution: what each component of a model adds to a logit.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
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
  std::optional<std::int64_t> token;  // at the end of the text; empty: each next token of the text
  std::optional<std::int64_t> against;  // subtracted; empty: the mean of all logits
};

/// Which label's logit of a sequence classifier is attributed: names or numbers.
struct AskedLabels {
  std::string label;
  std::string against;  // subtracted; empty: the mean of all labels
};

struct AttributionRequest {
  std::vector<Prompt> prompts;             // per model
  std::vector<AskedTokens> asked;          // per model; unused with `labels`
  std::optional<AskedLabels> labels = {};  // of classifiers
  Record text;
};

/// Throws Error(unsupported) if the logits are not a sum of component outputs.
void check_attributable(const ForwardPass& pass);

/// Rows: the direct effect of each component on the logit, mean over positions. Throws as
/// check_predicts_tokens() and check_attributable().
void run_attribution(std::span<const Model> models, const AttributionRequest& request,
                     const Context& context, RowSink& sink);

/// Rows: the direct effect of each component on the logit difference between correct and incorrect
/// answers, mean over prompts. Throws as check_answers() and check_attributable().
void run_attribution_prompts(std::span<const Model> models, const PromptsRequest& request,
                             const Context& context, RowSink& sink);

}  // namespace attnscope
