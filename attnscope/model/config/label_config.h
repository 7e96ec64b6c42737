// The head of a classifier: which one config.json asks for, and its labels.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attnscope/model/config/config_reader.h"
#include "attnscope/model/layer_spec.h"

namespace attnscope {

/// Returns the class names by id (`id2label`). Empty unless every class has a name.
std::vector<std::string> label_names(const ConfigReader& config);

/// Returns the head that the class in `architectures` has: ForSequenceClassification,
/// ForTokenClassification or ForQuestionAnswering. Empty for other classes, and for families whose
/// classifiers are not described. `unknown`: receives why the head cannot be run.
std::optional<LabelHeadSpec> label_head_of(const Architecture& architecture,
                                           const ConfigReader& config, std::string& unknown);

}  // namespace attnscope
