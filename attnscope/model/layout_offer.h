// A layout file for a checkpoint of an unknown architecture whose tensors have Llama's names.
#pragma once

#include <string>
#include <string_view>

#include "attnscope/checkpoint/checkpoint.h"

namespace attnscope {

/// The layout file's text in one line, by the shapes of the tensors and the numbers of the config;
/// empty where the names or shapes are others. It says that the layers compute what Llama's do,
/// which names alone cannot tell. `config`: the text of config.json, which may be anything.
std::string offered_layout(const Checkpoint& checkpoint, std::string_view config);

}  // namespace attnscope
