// From config.json and the norms of an architecture to those of a layer.
#pragma once

#include <optional>
#include <string>

#include "attnscope/model/config_reader.h"
#include "attnscope/model/layer_spec.h"

namespace attnscope {

/// The norm whose gains are in `tensor`, a pattern under the prefix. Empty: it has no gains.
NormSpec norm_named(const NormRule& rule, const ConfigReader& config, const std::string& tensor);

/// Likewise; none where `tensor` is empty.
std::optional<NormSpec> norm_at(const NormRule& rule, const ConfigReader& config,
                                const std::string& tensor);

/// All norms of a layer, whose `parallel` is known.
void set_norms(LayerSpec& layer, const NormRule& rule, const ConfigReader& config);

}  // namespace attnscope
