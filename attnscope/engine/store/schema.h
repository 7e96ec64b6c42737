// The tables and views of a store, and whether a file has them.
#pragma once

#include <string>
#include <vector>

#include "attnscope/engine/store/database.h"

namespace attnscope {

/// PRAGMA user_version of a store: the version of its tables.
inline constexpr std::int64_t kStoreVersion = 3;

/// Checks that the tables are those of a store. Views may differ. Throws Error(format) for the file
/// of another program or changed tables, Error(unsupported) for a store of another version.
void check_schema(const Database& database);

/// In an empty file, makes tables and views. Else checks the tables as above, and makes views anew
/// that differ from this program's.
void create_or_check_schema(Database& database);

// The views of a store's rows, made from the descriptions of their fields.

/// A CREATE VIEW statement for each kind of row that a store keeps: columns of the view
/// stored_rows, then a column for each field. docs/store.md lists them.
std::vector<std::string> row_views();

// The views of attention maps. A store keeps their measures text by text.

/// CREATE VIEW statements: `attention_maps` has each head's map of each sequence; `attention` and
/// `induction` have the means that the commands print, without standard errors. docs/store.md lists
/// them.
std::vector<std::string> attention_views();

}  // namespace attnscope
