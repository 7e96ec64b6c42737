// Reads config.json, as transformers wrote it before version 5 and since.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/model/model_spec.h"

namespace attnscope {

/// From the text of a config.json. Throws Error(format) for a contradiction or a missing number,
/// Error(unsupported) for an architecture that is not in the list, or has several stacks.
ModelSpec parse_config(std::string_view text, std::string_view where);

/// One spec per stack, or the whole model's if it has no stacks. Throws as parse_config().
std::vector<ModelSpec> parse_stacks(std::string_view text, std::string_view where);

/// One model by a given architecture. `family`: of the whole model or of a stack; `own`: the part
/// of `config` that describes it. `asked`: records the keys that were looked up; may be null.
ModelSpec spec_by(const Architecture& family, const nlohmann::json& own,
                  const nlohmann::json& config, std::string_view text, std::string_view where,
                  std::set<std::string>* asked = nullptr);

/// From the text of a config.json of any architecture. Throws Error(format).
Quantization parse_quantization(std::string_view text, std::string_view where);

}  // namespace attnscope
