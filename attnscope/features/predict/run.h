// Next-token prediction, fill-mask and text generation.
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
  std::vector<std::vector<Prompt>> prompts;  // per model: its texts
  Record text;                               // source of the prompts, for the report
  std::int64_t top = 5;
  std::optional<std::int64_t> generate;    // tokens; not for masked language models
  const PromptWatcher* watcher = nullptr;  // for a single model; may be null
  /// Receives the text that one model generates, as it appears and in whole characters, or ids
  /// without a tokenizer. Called on the thread that runs the model. An exception from it ends the
  /// run. May be empty.
  std::function<void(std::string_view)> on_text = {};
};

/// Rows: the most likely tokens after each prompt, or at each mask for a masked language model.
/// Throws as ForwardPass does, Error(unsupported) if the model cannot generate the requested text,
/// and Error(usage) if the KV cache exceeds the memory.
void run_predict(std::span<const Model> models, const PredictRequest& request,
                 const Context& context, RowSink& sink);

}  // namespace attnscope
