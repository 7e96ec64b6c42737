// What models say comes next in a text, what they write after it, and how well they foretell it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attnscope/engine/context.h"
#include "attnscope/features/common/prompt.h"
#include "attnscope/features/common/prompt_preference.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/logits.h"
#include "attnscope/forward/scored_positions.h"
#include "attnscope/inputs/text/tokenizer.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

struct PredictRequest {
  std::vector<Prompt> prompts;  // of each model
  Record text;                  // what the report says of where they come from
  std::int64_t top = 5;
  std::optional<std::int64_t> generate;    // tokens; not of models that fill masks
  const PromptWatcher* watcher = nullptr;  // of one model; may be null
  /// Given what one model writes, as it comes and in whole characters; ids where there is no
  /// tokenizer. On the thread that runs the model; what it throws ends the run. May be empty.
  std::function<void(std::string_view)> on_text = {};
};

/// Rows: the likeliest tokens after each prompt; of a masked-language model those in place of each
/// of its masks. Throws as ForwardPass does, Error(unsupported) where text is asked of a model that
/// writes none, and Error(usage) for more text than the memory holds keys and values of.
void run_predict(std::span<const Model> models, const PredictRequest& request,
                 const Context& context, RowSink& sink);

/// Which logit is attributed.
struct AskedTokens {
  std::optional<std::int64_t> token;    // at the text's end; none: at each place what follows there
  std::optional<std::int64_t> against;  // less that of this one; none: less the mean of all
};

struct AttributionRequest {
  std::vector<Prompt> prompts;     // of each model
  std::vector<AskedTokens> asked;  // of each model
  Record text;
};

/// Throws Error(unsupported) where logits are no sum of what parts write.
void check_attributable(const ForwardPass& pass);

/// Rows: what each part of a model adds to the logit, mean over places. Throws as
/// check_foretelling(), and Error(unsupported) where logits are no sum of what parts write.
void run_attribution(std::span<const Model> models, const AttributionRequest& request,
                     const Context& context, RowSink& sink);

/// Rows: what each part adds to how much the right answers' logits are above the wrong ones', mean
/// over prompts. Throws as check_answers() and check_attributable().
void run_attribution_prompts(std::span<const Model> models, const PromptsRequest& request,
                             const Context& context, RowSink& sink);

struct PerplexityRequest {
  std::vector<std::vector<TokenIds>> texts;  // of each model its examples: no window crosses them
  Record text;
  std::optional<std::int64_t> stride;     // none: the context, so that windows do not overlap
  std::vector<ScoredTokens> scored = {};  // of each model; none: all tokens count

  const ScoredTokens& scored_of(std::size_t model) const {
    static const ScoredTokens all;
    return model < scored.size() ? scored[model] : all;
  }
};

/// Rows: the windows of each model's examples. Throws as ForwardPass does, Error(unsupported) for a
/// model without next tokens, Error(usage) for a stride past the context or a text of one token.
void run_perplexity(std::span<const Model> models, const PerplexityRequest& request,
                    const Context& context, RowSink& sink);

}  // namespace attnscope
