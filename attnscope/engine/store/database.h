// The only code that calls SQLite: connections, statements and transactions that release their
// resources and report errors as Error. Private to this folder.
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

/// A prepared statement. Values are bound, never inserted into the SQL text.
class Statement {
 public:
  Statement& bind(std::string_view text);
  Statement& bind(std::int64_t number);
  Statement& bind(std::nullopt_t);
  template <class T>
  Statement& bind(const std::optional<T>& value) {
    return value ? bind(*value) : bind(std::nullopt);
  }

  /// Steps to the next row. Returns false if there is none; the statement may then be bound and run
  /// again.
  bool step();
  /// Runs the statement to its end.
  void run();
  /// Skips the remaining rows. The statement may then be bound and run again.
  void reset();

  /// Columns of the current row, counted from 0.
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

/// One connection, for use by one thread at a time.
class Database {
 public:
  enum class Access { existing, create };

  /// Opens the file. `create` creates it if it does not exist. The contents of the file are
  /// untrusted. Throws Error as fail() does.
  Database(const std::string& path, Access access);
  /// Returns a new database in memory.
  static Database in_memory() { return {":memory:", Access::create}; }

  const std::string& path() const { return path_; }

  /// Runs statements that bind no values and return no rows.
  void execute(const char* sql);
  Statement prepare(std::string_view sql) const { return {*this, sql}; }
  /// Returns the single number that `sql` selects.
  std::int64_t number(std::string_view sql) const;
  std::int64_t last_row_id() const;
  /// Returns the number of rows that the last statement changed.
  std::int64_t changes() const;

  /// Uses a write-ahead log instead of a journal: a commit is one write to the disk, and other
  /// processes can read at the same time. Keeps the journal if the file system does not support a
  /// log.
  void use_log();
  /// Moves the log back into the database file, unless another process uses it.
  void drop_log() noexcept;

  /// Throws the error of an SQLite code. Error(io): the disk is full, or the file is not writable
  /// or is locked by another process. Error(format): the file is damaged or not a store.
  [[noreturn]] void fail(int code) const;

 private:
  friend class Statement;
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::string path_;
  std::unique_ptr<sqlite3, Close> database_;
};

/// A transaction that is rolled back unless it is committed.
class Transaction {
 public:
  enum class For { writing, reading };

  /// `writing` takes the write lock at the start, so that the transaction cannot fail later for
  /// lack of it. `reading` sees the file as of its first read, whatever other processes write.
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
