// The views of attention maps, whose rows a store keeps text by text.
#pragma once

#include <string>
#include <vector>

namespace attnscope {

/// CREATE VIEW statements: `attention_maps`, each head's map of each sequence; `attention` and
/// `induction`, the means that the commands print, without their errors. docs/store.md lists them.
std::vector<std::string> attention_views();

}  // namespace attnscope
