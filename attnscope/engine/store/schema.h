// Tables and views of a store, and checks that a file has them.
#pragma once

#include <string>
#include <vector>

#include "attnscope/engine/store/database.h"

namespace attnscope {

/// Version of the tables, stored as PRAGMA user_version.
inline constexpr std::int64_t kStoreVersion = 3;

/// Checks that the tables are those of a store. Views may differ. Throws Error(format) if the file
/// belongs to another program or its tables were changed. Throws Error(unsupported) for a store of
/// another version.
void check_schema(const Database& database);

/// Creates tables and views in an empty file. Otherwise checks the tables like check_schema(), and
/// recreates views that differ from those of this program.
void create_or_check_schema(Database& database);

// Views of the rows of a store, generated from the descriptions of their fields.

/// Returns a CREATE VIEW statement for each kind of row in a store: the columns of the view
/// stored_rows, then one column per field. docs/store.md lists them.
std::vector<std::string> row_views();

// Views of attention maps. A store keeps their measures one text at a time.

/// Returns CREATE VIEW statements. `attention_maps` has one row per head and sequence. `attention`
/// and `induction` have the means that the commands print, without standard errors. docs/store.md
/// lists them.
std::vector<std::string> attention_views();

}  // namespace attnscope
