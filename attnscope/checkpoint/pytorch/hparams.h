// Hyperparameters that a training program saved beside the weights, as a config.json.
#pragma once

#include <optional>
#include <string>

#include "attnscope/checkpoint/pytorch/pickle.h"

namespace attnscope {

/// The text of a config.json with the pickle's `hparams`, and with `architectures` the class that
/// their `model_class` names ("models.gpt2.gpt_core.GPT2Core"); none where there is none. Values
/// that JSON does not know are null.
/// Source: jonathanmiddleton/daisy-wee, whose checkpoints are so.
std::optional<std::string> config_of_hparams(const Pickle& pickle);

}  // namespace attnscope
