// What a model calls the classes that it tells apart.
#pragma once

#include <string>
#include <vector>

#include "attnscope/model/model_spec.h"

namespace attnscope {

/// `id2label` of its config.json, by id; empty where it names none, or not each.
std::vector<std::string> label_names(const ModelSpec& spec);

}  // namespace attnscope
