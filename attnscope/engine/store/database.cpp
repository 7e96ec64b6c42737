#include "attnscope/engine/store/database.h"

#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <new>
#include <thread>
#include <utility>

#include "attnscope/base/error.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// Time to wait for another process to finish its write.
constexpr auto kPatience = 60s;

/// Limit for strings and rows: far above any row of a store, far below the available memory.
constexpr int kMaxBytes = 1 << 28;

/// Returns why SQLite could not open a file, after a colon. If it may not create the file, its last
/// system error is only that the file does not exist.
std::string obstacle_to(const std::string& path, int system_error) {
  const std::string parent = fs::path(path).parent_path().string();
  const std::string folder = parent.empty() ? "." : parent;
  if (access(folder.c_str(), F_OK) != 0 ||
      (access(path.c_str(), F_OK) != 0 && access(folder.c_str(), W_OK | X_OK) != 0)) {
    return std::string(": its folder: ") + std::strerror(errno);
  }
  return system_error == 0 ? "" : std::string(": ") + std::strerror(system_error);
}

[[noreturn]] void stop(ErrorKind kind, const std::string& file, std::string problem,
                       std::string hint) {
  throw Error(kind, {.file = file, .problem = std::move(problem), .hint = std::move(hint)});
}

}  // namespace

// ---- Statement ----------------------------------------------------------------------------------

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Statement::Statement(const Database& database, std::string_view sql) : database_(&database) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(database.database_.get(), sql.data(),
                                      static_cast<int>(sql.size()), &statement, nullptr);
  statement_.reset(statement);
  if (code != SQLITE_OK) database.fail(code);
}

void Statement::check_bound(int code) {
  if (code != SQLITE_OK) database_->fail(code);
}

Statement& Statement::bind(std::string_view text) {
  check_bound(sqlite3_bind_text64(statement_.get(), ++bound_, text.data() ? text.data() : "",
                                  text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind(std::int64_t number) {
  check_bound(sqlite3_bind_int64(statement_.get(), ++bound_, number));
  return *this;
}

Statement& Statement::bind(std::nullopt_t) {
  check_bound(sqlite3_bind_null(statement_.get(), ++bound_));
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  reset();
  if (code != SQLITE_DONE) database_->fail(code);
  return false;
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
  bound_ = 0;
}

void Statement::run() {
  while (step()) {
  }
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string Statement::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (text == nullptr) return "";
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::optional<std::int64_t> Statement::optional_integer(int column) const {
  if (is_null(column)) return std::nullopt;
  return integer(column);
}

// ---- Database -----------------------------------------------------------------------------------

void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Database::Database(const std::string& path, Access access) : path_(path) {
  // Opens the file for reading and writing even for reads: recovery after a killed run needs to
  // write. A write-protected file is opened for reading.
  const int flags = SQLITE_OPEN_READWRITE | (access == Access::create ? SQLITE_OPEN_CREATE : 0);
  sqlite3* database = nullptr;
  // SQLite gives special meaning to names that begin with a colon or "file:".
  const std::string name = path == ":memory:" || path.starts_with('/') ? path : "./" + path;
  const int code = sqlite3_open_v2(name.c_str(), &database, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  database_.reset(database);
  if (database == nullptr) throw std::bad_alloc();
  if (code != SQLITE_OK) fail(code);
  sqlite3_extended_result_codes(database, 1);
  sqlite3_busy_timeout(database, static_cast<int>(std::chrono::milliseconds(kPatience).count()));
  sqlite3_limit(database, SQLITE_LIMIT_LENGTH, kMaxBytes);
  // The file is untrusted: its triggers do not run, and its views cannot call functions with side
  // effects.
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  execute("PRAGMA cell_size_check = ON; PRAGMA synchronous = FULL; PRAGMA foreign_keys = OFF;");
}

void Database::execute(const char* sql) {
  const int code = sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

std::int64_t Database::number(std::string_view sql) const {
  Statement statement = prepare(sql);
  if (!statement.step()) return 0;
  return statement.integer(0);
}

std::int64_t Database::last_row_id() const { return sqlite3_last_insert_rowid(database_.get()); }

std::int64_t Database::changes() const { return sqlite3_changes64(database_.get()); }

void Database::use_log() {
  // SQLite does not wait here if another process changes the mode at the same time.
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    const int code =
        sqlite3_exec(database_.get(), "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr);
    if (code == SQLITE_OK) return;
    if ((code & 0xFF) != SQLITE_BUSY || std::chrono::steady_clock::now() > give_up) fail(code);
    std::this_thread::sleep_for(10ms);
  }
}

void Database::drop_log() noexcept {
  sqlite3_busy_timeout(database_.get(), 0);
  sqlite3_exec(database_.get(), "PRAGMA journal_mode = DELETE", nullptr, nullptr, nullptr);
}

void Database::fail(int code) const {
  const int error = sqlite3_system_errno(database_.get());
  const std::string cause = error == 0 ? "" : std::string(": ") + std::strerror(error);
  switch (code & 0xFF) {
    case SQLITE_NOMEM: throw std::bad_alloc();
    case SQLITE_FULL:
      stop(ErrorKind::io, path_, "the disk is full",
           "free disk space and run again: finished rows are kept");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      stop(ErrorKind::io, path_, "is locked by another program",
           "end that program and run again: finished rows are kept");
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      stop(ErrorKind::io, path_, "cannot be written", "allow writing to the file and its folder");
    case SQLITE_CANTOPEN:
      stop(ErrorKind::io, path_, "cannot be opened" + obstacle_to(path_, error), "");
    case SQLITE_IOERR:
      stop(ErrorKind::io, path_, "cannot be read or written" + cause,
           "check the free disk space; finished rows are kept");
    case SQLITE_NOTADB:
      stop(ErrorKind::format, path_, "is not an SQLite database", "pass another file or a new one");
    default:
      stop(ErrorKind::format, path_, std::string("is damaged: ") + sqlite3_errmsg(database_.get()),
           "pass a new file to recompute the rows");
  }
}

// ---- Transaction --------------------------------------------------------------------------------

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.execute("ROLLBACK");
  } catch (const std::exception&) {
    // Some errors have already ended the transaction.
  }
}

void Transaction::commit() {
  database_.execute("COMMIT");
  open_ = false;
}

}  // namespace attnscope
