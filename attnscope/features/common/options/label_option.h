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

/// The options that `label` excludes: `others`, which need logits over tokens, and those of
/// windows.
std::vector<Exclusion> label_exclusions(std::vector<std::string> others);

/// Throws Error(usage) about `parameter` unless all models label whole texts.
void check_labels_texts(std::span<const Model> models, const std::string& parameter);

/// The texts of each model, with special tokens: each text, the lines of a file with `lines`, or a
/// whole file. `parameters`: receives the report parameters that describe their source. Notes go to
/// `sink`. Throws Error(usage) if a line or a file is longer than the model's context.
std::vector<std::vector<TokenIds>> label_texts(const Arguments& arguments, const Session& session,
                                               const std::vector<Model>& models, Record& parameters,
                                               RowSink& sink);

/// The label with this name or number. Throws Error(usage) about `parameter` that lists the labels,
/// and Error(format) if the files lack the head.
std::int64_t label_named(const ForwardPass& pass, const std::string& text,
                         const std::string& parameter);

}  // namespace attnscope
