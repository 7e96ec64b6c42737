// A layout file for a checkpoint of an unknown architecture whose tensors have the names of a known
// one: Llama, BERT, RoBERTa or GPT-NeoX.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"

namespace attnscope {

struct LayoutOffer {
  std::string text;  // of the layout file
  std::string like;  // whose names the tensors have
  /// Why the layout says nothing of the forward pass; empty: it describes it.
  std::vector<std::string> doubts;
};

/// The config's numbers are read as those of the architecture with such names. The forward pass is
/// described only if every key of the config is understood, every tensor is named, and the config
/// says all that the names cannot tell. None: no names fit, or shapes and numbers contradict each
/// other. `config`: the text of config.json, which may be anything.
std::optional<LayoutOffer> offered_layout(std::shared_ptr<const Checkpoint> checkpoint,
                                          std::string_view config);

}  // namespace attnscope
