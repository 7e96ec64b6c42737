// The tables and views of a store, and whether a file has them.
#pragma once

#include "attnscope/store/database.h"

namespace attnscope {

/// What PRAGMA user_version of a store says.
inline constexpr std::int64_t kStoreVersion = 2;

/// Makes sure that the tables are those of a store; views may be another program's. Throws
/// Error(format) for the file of another program or tables that were changed, Error(unsupported)
/// for a store of another version.
void check_schema(const Database& database);

/// Makes tables and views where the file is empty; else checks it as above and makes those views
/// anew that differ from this program's.
void create_or_check_schema(Database& database);

}  // namespace attnscope
