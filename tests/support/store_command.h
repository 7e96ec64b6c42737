// Commands with --store, and direct queries of the store.
#pragma once

#include <string>

#include "tests/support/program.h"
#include "tests/support/sqlite_query.h"

namespace attnscope::test {

class CliStore : public testing::Test {
 protected:
  std::string store() const { return (folder_.path() / "rows.sqlite").string(); }
  Words stored(const Words& command) const { return command + Words{"--store", store()}; }
  long number(const std::string& sql) const { return query_number(store(), sql); }
  long items() const { return number("SELECT count(*) FROM items"); }
  /// The number of items that the last run computed.
  long computed() const { return number("SELECT computed FROM runs ORDER BY id DESC LIMIT 1"); }
  std::string exported(const Words& options = {}) const {
    return output_of(Words{"export", store()} + options);
  }

  /// Checks that the command prints the same with and without a store, and computes `count` items.
  void expect_computed(const Words& command, long count) const {
    SCOPED_TRACE(command_text(command));
    const std::string plain = output_of(command);
    EXPECT_EQ(output_of(stored(command)), plain);
    EXPECT_EQ(computed(), count);
  }

  TempFolder folder_;
};

}  // namespace attnscope::test
