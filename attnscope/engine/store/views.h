// The views of a store's rows, made from the descriptions of their fields.
#pragma once

#include <string>
#include <vector>

namespace attnscope {

/// A CREATE VIEW statement for each kind of row that a store keeps: columns of the view
/// stored_rows, then a column for each field. docs/store.md lists them.
std::vector<std::string> row_views();

// The views of attention maps. A store keeps their measures text by text.

/// CREATE VIEW statements: `attention_maps` has each head's map of each sequence; `attention` and
/// `induction` have the means that the commands print, without standard errors. docs/store.md lists
/// them.
std::vector<std::string> attention_views();

}  // namespace attnscope
