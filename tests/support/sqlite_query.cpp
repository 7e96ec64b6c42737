#include "tests/support/sqlite_query.h"

#include <sqlite3.h>

#include <memory>
#include <stdexcept>

namespace attnscope::test {

std::vector<std::vector<std::string>> query(const std::filesystem::path& file,
                                            const std::string& sql) {
  sqlite3* opened = nullptr;
  sqlite3_open_v2(file.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> database(opened, sqlite3_close);
  sqlite3_busy_timeout(opened, 20'000);
  std::vector<std::vector<std::string>> rows;
  const auto keep = [](void* into, int count, char** cells, char**) {
    auto& row = static_cast<std::vector<std::vector<std::string>>*>(into)->emplace_back();
    for (int at = 0; at < count; ++at) row.emplace_back(cells[at] == nullptr ? "" : cells[at]);
    return 0;
  };
  if (sqlite3_exec(opened, sql.c_str(), keep, &rows, nullptr) != SQLITE_OK) {
    throw std::runtime_error(sql + ": " + sqlite3_errmsg(opened));
  }
  return rows;
}

long query_number(const std::filesystem::path& file, const std::string& sql) {
  return std::stol(query(file, sql).at(0).at(0));
}

}  // namespace attnscope::test
