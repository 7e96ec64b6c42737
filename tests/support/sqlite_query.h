// Reads and changes a SQLite file directly.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace attnscope::test {

/// The rows of all statements with cells as text; NULL is empty. Throws std::runtime_error.
std::vector<std::vector<std::string>> query(const std::filesystem::path& file,
                                            const std::string& sql);

/// The single number that `sql` returns.
long query_number(const std::filesystem::path& file, const std::string& sql);

}  // namespace attnscope::test
