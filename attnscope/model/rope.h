// The angles by which rotary models turn queries and keys.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "attnscope/model/spec.h"

namespace attnscope {

/// Radians a token for each pair of rotated dimensions: pair i is dimensions i and i + n of a head,
/// n = the number of pairs; dimensions from 2 n on are not turned.
/// Source: transformers, modeling_rope_utils.py. Throws Error(unsupported) for scalings other than
/// default, linear and llama3; `where` names the file that asks for it.
std::vector<double> rope_frequencies(const Rope& rope, std::int64_t head_dim,
                                     std::string_view where);

}  // namespace attnscope
