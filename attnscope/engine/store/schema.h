// The tables and views of a store, and whether a file has them.
#pragma once

#include "attnscope/engine/store/database.h"

namespace attnscope {

/// PRAGMA user_version of a store: the version of its tables.
inline constexpr std::int64_t kStoreVersion = 2;

/// Checks that the tables are those of a store. Views may differ. Throws Error(format) for the file
/// of another program or changed tables, Error(unsupported) for a store of another version.
void check_schema(const Database& database);

/// In an empty file, makes tables and views. Else checks the tables as above, and makes views anew
/// that differ from this program's.
void create_or_check_schema(Database& database);

}  // namespace attnscope
