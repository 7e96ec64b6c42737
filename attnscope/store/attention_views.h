// The views of attention maps. A store keeps their measures text by text.
#pragma once

#include <string>
#include <vector>

namespace attnscope {

/// CREATE VIEW statements: `attention_maps` has each head's map of each sequence; `attention` and
/// `induction` have the means that the commands print, without standard errors. docs/store.md lists
/// them.
std::vector<std::string> attention_views();

}  // namespace attnscope
