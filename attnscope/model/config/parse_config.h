// Reads config.json, as written by transformers 5 and earlier versions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/model/model_spec.h"

namespace attnscope {

/// Parses the text of a config.json. Throws Error(format) for a contradiction or a missing number.
/// Throws Error(unsupported) for an architecture that is not in the list or has several stacks.
ModelSpec parse_config(std::string_view text, std::string_view where);

/// Returns one spec per stack, or one for the whole model if it has no stacks. Throws the errors of
/// parse_config().
std::vector<ModelSpec> parse_stacks(std::string_view text, std::string_view where);

/// Parses one model with a given architecture. `family`: the architecture of the whole model or of
/// a stack. `own`: the part of `config` that describes it. `asked`: records the keys that were
/// looked up; may be null.
ModelSpec spec_by(const Architecture& family, const nlohmann::json& own,
                  const nlohmann::json& config, std::string_view text, std::string_view where,
                  std::set<std::string>* asked = nullptr);

/// Parses the text of a config.json of any architecture. Throws Error(format).
Quantization parse_quantization(std::string_view text, std::string_view where);

}  // namespace attnscope
