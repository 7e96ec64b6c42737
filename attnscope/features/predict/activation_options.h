// Options that select activations by name.
#pragma once

#include <optional>

#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/predict/saved_activations.h"

namespace attnscope {

/// activations, layers, heads, positions, dtype.
Parameters activation_parameters();

/// The requested activations; nothing if none are. Throws Error(usage) for positions in another
/// form, for `activations` without `save`, and for the other options without `activations`.
std::optional<NamedActivations> activation_request(const Arguments& arguments);

}  // namespace attnscope
