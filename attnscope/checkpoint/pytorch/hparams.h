// Hyperparameters that a training program saved beside the weights, as a config.json.
#pragma once

#include <optional>
#include <string>

#include "attnscope/checkpoint/pytorch/pickle.h"

namespace attnscope {

/// The text of a config.json with the pickle's `hparams`, and as `architectures` the class that
/// their `model_class` names ("models.gpt2.gpt_core.GPT2Core"). Nothing if there are no `hparams`.
/// Values that JSON cannot express are null. Source: checkpoints of jonathanmiddleton/daisy-wee.
std::optional<std::string> config_of_hparams(const Pickle& pickle);

}  // namespace attnscope
