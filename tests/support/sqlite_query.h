// Looks into a SQLite file, and changes it, as anybody could.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace attnscope::test {

/// The rows of all statements, cells as text; NULL is empty. Throws std::runtime_error.
std::vector<std::vector<std::string>> query(const std::filesystem::path& file,
                                            const std::string& sql);

/// The one number that `sql` gives.
long query_number(const std::filesystem::path& file, const std::string& sql);

}  // namespace attnscope::test
