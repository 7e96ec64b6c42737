// The part of a config.json that describes one model, read by a given architecture.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>

#include "attnscope/model/model_spec.h"

namespace attnscope {

/// `family`: of the whole model or of a stack; `own`: the part of the file that describes it.
/// `asked`: where to note the keys that were asked for; may be null.
ModelSpec spec_by(const Architecture& family, const nlohmann::json& own,
                  const nlohmann::json& config, std::string_view text, std::string_view where,
                  std::set<std::string>* asked = nullptr);

}  // namespace attnscope
