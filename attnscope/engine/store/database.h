// The only code that calls SQLite: connections, statements and transactions that clean up after
// themselves, with SQLite's errors as Error. For the sources of this folder only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace attnscope {

class Database;

/// A prepared statement. Values are bound, never pasted into the text.
class Statement {
 public:
  Statement& bind(std::string_view text);
  Statement& bind(std::int64_t number);
  Statement& bind(std::nullopt_t);
  template <class T>
  Statement& bind(const std::optional<T>& value) {
    return value ? bind(*value) : bind(std::nullopt);
  }

  /// Steps to the next row; false if there is none. Then the statement may be bound and run again.
  bool step();
  /// Runs to the end.
  void run();
  /// Skips the rest of the rows. Then the statement may be bound and run again.
  void reset();

  /// Columns of the row, from 0.
  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  std::string text(int column) const;
  std::optional<std::int64_t> optional_integer(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(const Database& database, std::string_view sql);
  void check_bound(int code);

  const Database* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bound_ = 0;
};

/// One connection; for one thread at a time.
class Database {
 public:
  enum class Access { existing, create };

  /// Opens the file; `create` makes it if there is none. Nothing in the file is trusted. Throws
  /// Error as fail() does.
  Database(const std::string& path, Access access);
  /// A separate database in memory.
  static Database in_memory() { return {":memory:", Access::create}; }

  const std::string& path() const { return path_; }

  /// Runs statements without values or rows.
  void execute(const char* sql);
  Statement prepare(std::string_view sql) const { return {*this, sql}; }
  /// The single number that `sql` returns.
  std::int64_t number(std::string_view sql) const;
  std::int64_t last_row_id() const;
  /// Rows that the last statement changed.
  std::int64_t changes() const;

  /// Uses a write-ahead log instead of a journal: a commit is one write to the disk, and others can
  /// read meanwhile. Keeps the journal if the file system does not support it.
  void use_log();
  /// Moves everything back into the one file, unless another process uses it.
  void drop_log() noexcept;

  /// Throws SQLite's error: Error(io) for a full disk, a file that cannot be written, or one that
  /// others keep locked; Error(format) for a file that is damaged or not a store.
  [[noreturn]] void fail(int code) const;

 private:
  friend class Statement;
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::string path_;
  std::unique_ptr<sqlite3, Close> database_;
};

/// Rolled back unless it is committed.
class Transaction {
 public:
  enum class For { writing, reading };

  /// `writing` takes the write lock at the start, so that it cannot fail halfway for lack of it.
  /// `reading` sees the file as it is at its first read, whatever others write.
  explicit Transaction(Database& database, For purpose = For::writing) : database_(database) {
    database_.execute(purpose == For::writing ? "BEGIN IMMEDIATE" : "BEGIN");
  }
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace attnscope
