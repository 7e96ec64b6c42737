// What a plan holds for: shrink refuses another model, and another text.
#pragma once

#include <string>

#include "attnscope/model/model.h"
#include "attnscope/smaller/choice.h"
#include "attnscope/smaller/measure.h"

namespace attnscope {

/// Of all bytes of a model, and of its config.
std::string model_hash(const Model& model);
/// Of the windows of a text, of what encoders read beside them, and of which tokens count.
std::string windows_hash(const TextWindows& text);
/// Of a form, its size, and all that it keeps.
std::string choice_hash(const Choice& choice);

}  // namespace attnscope
