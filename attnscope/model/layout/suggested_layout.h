// Suggests a layout file for a checkpoint of an unknown architecture whose tensor names are those
// of a known one: Llama, BERT, RoBERTa or GPT-NeoX.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"

namespace attnscope {

struct LayoutOffer {
  std::string text;  // text of the layout file
  std::string like;  // the architecture whose tensor names match
  /// Why the layout does not describe the forward pass; empty: it does.
  std::vector<std::string> doubts;
};

/// Numbers of the config are read as for the architecture with such names. The forward pass is
/// described only if every key of the config is understood, every tensor is named, and the config
/// settles everything that the names leave open. Returns none if no names match, or if shapes and
/// numbers contradict each other. `config`: the text of config.json, which may be invalid.
std::optional<LayoutOffer> offered_layout(std::shared_ptr<const Checkpoint> checkpoint,
                                          std::string_view config);

}  // namespace attnscope
