// What models predict to come next in a text, and what they write after it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attnscope/engine/context.h"
#include "attnscope/features/common/prompt.h"
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

}  // namespace attnscope
