// Models whose encoder and decoder are models of other architectures.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "attnscope/model/architecture.h"

namespace attnscope {

/// Returns `family` with its stacks: encoder, decoder and cross-attention of the architectures that
/// `config` names. `find`: returns the architecture of a config. Throws Error(format) if the sizes
/// of encoder and decoder do not fit, Error(unsupported) for a decoder without cross-attention.
Architecture with_two_models(Architecture family, const nlohmann::json& config,
                             std::string_view where,
                             const std::function<Architecture(const nlohmann::json&)>& find);

}  // namespace attnscope
