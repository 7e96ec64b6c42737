// The tables and views of a store, and whether a file has them.
#pragma once

#include "attnscope/store/database.h"

namespace attnscope {

/// What PRAGMA user_version of a store says.
inline constexpr std::int64_t kStoreVersion = 2;

/// Makes the tables where the file is empty, else makes sure that they are those of a store. Throws
/// Error(format) for the file of another program or tables that were changed, Error(unsupported)
/// for a store of another version.
void create_or_check_schema(Database& database);
void check_schema(const Database& database);

}  // namespace attnscope
