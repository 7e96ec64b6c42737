// Shared by tests of the program: running it, and reading its output.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/run_command.h"
#include "tests/support/temp_folder.h"

namespace attnscope::test {

using nlohmann::json;
using Words = std::vector<std::string>;

inline std::string source_path(const std::string& path) {
  return (std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / path).string();
}

/// A small checkpoint of tests/data.
inline std::string data_path(const std::string& name) { return source_path("tests/data/" + name); }

/// The names of all small checkpoints, sorted.
inline Words data_names() {
  Words names;
  for (const auto& entry : std::filesystem::directory_iterator(source_path("tests/data"))) {
    // Folders of several checkpoints belong to other tests.
    if (!std::filesystem::exists(entry.path() / "config.json")) continue;
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The sorted file names of a folder.
inline Words files_in(const std::filesystem::path& folder) {
  Words names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

inline Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

inline std::string command_text(const Words& arguments) {
  std::string text = "attnscope";
  for (const std::string& argument : arguments) text += " " + argument;
  return text;
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// The legend below a table, which is wrapped at the width of the table.
inline std::string legend_of(const std::string& table) {
  std::string legend = table.substr(table.rfind("\n\n") + 2);
  std::replace(legend.begin(), legend.end(), '\n', ' ');
  return legend;
}

/// The lines of a text that ends with a line feed. Without one, the last line is marked.
inline Words lines_of(const std::string& text) {
  Words lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  if (!text.empty() && text.back() != '\n') lines.back() += " (no line feed at the end)";
  return lines;
}

inline Words words_of(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

inline bool has_escapes(const std::string& text) { return contains(text, "\x1b"); }

/// The words of the only line of a table that starts with `first`.
inline Words line_with(const std::string& table, const std::string& first) {
  Words found;
  for (const std::string& line : lines_of(table)) {
    const Words words = words_of(line);
    if (words.empty() || words.front() != first) continue;
    EXPECT_TRUE(found.empty()) << "two lines start with " << first << ":\n" << table;
    found = words;
  }
  return found;
}

/// Exit codes.
inline constexpr int kUsage = 2, kIo = 3, kBadFile = 4, kUnsupported = 5;

/// Checks an error as documented: nothing on stdout, one line on stderr, and the exit code.
inline void expect_refusal(const Words& arguments, int exit_code, const Words& said,
                           const RunOptions& options = {}) {
  SCOPED_TRACE(command_text(arguments));
  const RunResult run = run_attnscope(arguments, options);
  EXPECT_EQ(run.exit_code, exit_code) << run.err;
  EXPECT_EQ(run.signal, 0);
  EXPECT_EQ(run.out, "");
  const Words lines = lines_of(run.err);
  EXPECT_EQ(lines.size(), 1u) << run.err;
  EXPECT_TRUE(run.err.starts_with("attnscope: error: ")) << run.err;
  EXPECT_TRUE(run.err.ends_with('\n')) << run.err;
  EXPECT_FALSE(has_escapes(run.err)) << run.err;
  for (const std::string& part : said) {
    EXPECT_TRUE(contains(run.err, part)) << "lacks '" << part << "': " << run.err;
  }
}

/// Every command notes which parts of a multimodal checkpoint it skips. See tests/features/info.
inline std::string without_notes_on_towers(const std::string& err) {
  std::string kept;
  for (const std::string& line : lines_of(err)) {
    if (!contains(line, "only its language model is analyzed; skipped: ")) kept += line + '\n';
  }
  return kept;
}

/// Runs a command that must succeed without output on stderr.
inline std::string output_of(const Words& arguments, const RunOptions& options = {}) {
  SCOPED_TRACE(command_text(arguments));
  const RunResult run = run_attnscope(arguments, options);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(without_notes_on_towers(run.err), "");
  return run.out;
}

inline json report_of(const Words& arguments) {
  return json::parse(output_of(arguments + Words{"--format", "json"}));
}

/// A strict reader of RFC 4180, which throws for anything else.
struct CsvTable {
  Words columns;
  std::vector<Words> rows;

  explicit CsvTable(const std::string& text) {
    std::vector<Words> lines;
    std::size_t at = 0;
    while (at < text.size()) {
      Words& line = lines.emplace_back();
      for (bool more = true; more;) {
        line.push_back(take_cell(text, at));
        more = at < text.size() && text[at] == ',';
        if (more) ++at;
      }
      if (text.compare(at, 2, "\r\n") != 0)
        throw std::runtime_error("a line that CRLF does not end");
      at += 2;
      if (line.size() != lines.front().size()) throw std::runtime_error("a line of other length");
    }
    if (lines.empty()) throw std::runtime_error("no header");
    columns = lines.front();
    rows.assign(lines.begin() + 1, lines.end());
  }

  bool has(const std::string& column) const {
    return std::find(columns.begin(), columns.end(), column) != columns.end();
  }

  const std::string& cell(std::size_t row, const std::string& column) const {
    const auto found = std::find(columns.begin(), columns.end(), column);
    if (found == columns.end()) throw std::runtime_error("no column " + column);
    return rows.at(row)[static_cast<std::size_t>(found - columns.begin())];
  }

 private:
  static std::string take_cell(const std::string& text, std::size_t& at) {
    std::string cell;
    if (at < text.size() && text[at] == '"') {
      for (++at;; ++at) {
        if (at >= text.size()) throw std::runtime_error("a quote that is not closed");
        if (text[at] == '"' && text.compare(at, 2, "\"\"") != 0) break;
        if (text[at] == '"') ++at;
        cell += text[at];
      }
      ++at;
      return cell;
    }
    while (at < text.size() && text[at] != ',' && text[at] != '\r' && text[at] != '\n') {
      if (text[at] == '"') throw std::runtime_error("a quote in a cell without quotes");
      cell += text[at++];
    }
    return cell;
  }
};

inline CsvTable csv_of(const Words& arguments) {
  return CsvTable(output_of(arguments + Words{"--format", "csv"}));
}

/// The row of one matrix. Fails and returns null if there is not exactly one.
inline json find_row(const json& rows, const json& layer, const std::string& matrix,
                     const json& head) {
  json found;
  int count = 0;
  for (const json& row : rows) {
    if (row.at("layer") != layer || row.at("matrix") != matrix || row.at("head") != head) continue;
    found = row;
    ++count;
  }
  EXPECT_EQ(count, 1) << "rows of " << matrix << ", layer " << layer << ", head " << head;
  return found;
}

inline std::vector<std::string> keys_of(const json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  return keys;
}

/// Names in any order, as returned by keys_of() for an object with exactly these keys.
inline Words sorted(Words names) {
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace attnscope::test
