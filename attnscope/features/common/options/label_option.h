// The option `label`: a label of a classifier, whose logit is analyzed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/common/options/token_sequences.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/model/model.h"

namespace attnscope {

Parameter label_parameter(std::string help);

/// The options that `label` excludes, because they need logits over tokens.
Exclusion label_exclusion(std::vector<std::string> others);

/// Throws Error(usage) about `parameter` unless all models label whole texts.
void check_labels_texts(std::span<const Model> models, const std::string& parameter);

/// The texts of each model. `parameters`: receives the report parameters that describe their
/// source. Notes go to `sink`.
std::vector<std::vector<TokenIds>> label_texts(const Arguments& arguments, const Session& session,
                                               const std::vector<Model>& models, Record& parameters,
                                               RowSink& sink);

/// The label with this name or number. Throws Error(usage) about `parameter` that lists the labels,
/// and Error(format) if the files lack the head.
std::int64_t label_named(const ForwardPass& pass, const std::string& text,
                         const std::string& parameter);

}  // namespace attnscope
