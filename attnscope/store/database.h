// The one door to SQLite: connections, statements and transactions that clean up after themselves,
// and its errors as ours. For the sources of this folder only.
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

  /// The next row; false where there is none, after which it may be bound and run again.
  bool step();
  /// Runs to the end.
  void run();
  /// Leaves the rest of the rows: it may be bound and run again.
  void reset();

  /// Columns of the row, from 0. The text lives until the next step.
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

  /// Opens the file, which `create` makes where there is none. Nothing in the file is trusted.
  /// Throws Error as fail() does.
  Database(const std::string& path, Access access);
  /// A database of its own in memory.
  static Database in_memory() { return {":memory:", Access::create}; }

  const std::string& path() const { return path_; }

  /// Statements without values or rows.
  void execute(const char* sql);
  Statement prepare(std::string_view sql) const { return {*this, sql}; }
  /// The one number that `sql` gives.
  std::int64_t number(std::string_view sql) const;
  std::int64_t last_row_id() const;
  /// Rows that the last statement changed.
  std::int64_t changes() const;

  /// Keeps a log beside the file instead of a journal, which commits with one write to the disk and
  /// lets others read meanwhile. Where the file system cannot, the journal stays.
  void use_log();
  /// Puts everything into the one file again, unless another process uses it.
  void drop_log() noexcept;

  /// Throws what stopped SQLite: Error(io) for a disk that is full, a file that cannot be written,
  /// one that others keep locked; Error(format) for one that is damaged or not what it should be.
  [[noreturn]] void fail(int code) const;

 private:
  friend class Statement;
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::string path_;
  std::unique_ptr<sqlite3, Close> database_;
};

/// Undone unless it is committed.
class Transaction {
 public:
  enum class For { writing, reading };

  /// `writing` takes the right to write at once, so that it cannot fail halfway for want of it;
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
