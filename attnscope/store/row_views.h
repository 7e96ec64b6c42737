// The views of a store's rows, made from the descriptions of their fields.
#pragma once

#include <string>
#include <vector>

namespace attnscope {

/// A CREATE VIEW statement for each kind of row that a store keeps: columns of the view
/// stored_rows, then a column for each field. docs/store.md lists them.
std::vector<std::string> row_views();

}  // namespace attnscope
