// The table that lists the contents of a store.
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "attnscope/base/text.h"
#include "attnscope/rows/table/style.h"
#include "attnscope/rows/writers.h"

namespace attnscope::test {
namespace {

Record row_of(std::int64_t set, const std::string& model, const std::string& analysis,
              const std::string& parameters, Value rows) {
  return {{"set", set},
          {"model", model},
          {"command", "spectrum"},
          {"analysis", analysis},
          {"parameters", parameters},
          {"revision", 3},
          {"rows", std::move(rows)},
          {"skipped", 2},
          {"finished", "2025-11-23T09:10:41Z"}};
}

std::vector<std::string> contents_table(const std::vector<Record>& rows, int width = 100) {
  Report report;
  report.command = "export";
  report.parameters = {{"list", true}};
  report.rows = rows;
  std::ostringstream out;
  send(report, *formats()[0].make({.width = width}, out));
  return split(out.str(), '\n');
}

constexpr const char* kParameters =
    R"({"energy":[0.9,0.99],"values":false,"rank":null,"per_head":true,"bins":"fd"})";

TEST(ContentsTable, DescribesEachSet) {
  const auto lines = contents_table(
      {row_of(1, "gpt2", "spectrum", kParameters, 1234), row_of(12, "b", "mla", "{}", Value())});
  EXPECT_EQ(lines[0].find("set  model"), 0u) << lines[0];
  EXPECT_EQ(lines[1],
            "1    gpt2   spectrum       bins fd; energy 0.9,0.99; per_head  1,234        2  "
            "2025-11-23 09:10:41");
  EXPECT_EQ(lines[2].find("12   b      spectrum: mla "), 0u) << lines[2];
  EXPECT_NE(lines[2].find("  -  "), std::string::npos) << lines[2];
}

TEST(ContentsTable, CutsParametersOnANarrowTerminal) {
  const std::string long_one = R"({"tokens_hash":")" + std::string(120, 'f') + R"("})";
  for (const std::string& line : contents_table(
           {row_of(1, "gpt2", "spectrum", long_one, 4), row_of(2, "gpt2", "spectrum", "{}", 4)},
           80)) {
    EXPECT_TRUE(display_width(line) <= 80 || line.starts_with("Print one set")) << line;
  }
}

TEST(ContentsTable, StripsTerminalEscapes) {
  for (const std::string& line :
       contents_table({row_of(1, "a\x1b[31m", "b\x1b[31m", R"({"\u001b[31m":"\u001b"})", 4)})) {
    EXPECT_EQ(line.find('\x1b'), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace attnscope::test
