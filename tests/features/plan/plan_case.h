// Shared by tests of plans: a text, and commands on it.
#pragma once

#include <csignal>
#include <filesystem>
#include <string>

#include "tests/support/program.h"
#include "tests/support/sqlite_query.h"

namespace attnscope::test {

inline const std::string kPlanExample = source_path("examples/shakespeare-llama");
inline const std::string kPlanGpt2 = source_path("examples/shakespeare-gpt2");

/// A text of a few thousand tokens, and commands that run quickly on it.
class PlanCase : public ::testing::Test {
 protected:
  PlanCase() : text_(scratch_.write("text.txt", verses()).string()) {}

  static std::string verses() {
    std::string text;
    for (int line = 0; line < 160; ++line) {
      text += "ROMEO:\nWhat light " + std::to_string(line) + " through yonder window breaks? " +
              (line % 3 == 0 ? "It is the east, and Juliet is the sun.\n\n"
                             : "Arise, fair sun, and kill the envious moon.\n\n");
    }
    return text;
  }

  std::string path(const std::string& name) const { return (scratch_.path() / name).string(); }

  Words plan(const std::string& model, const Words& more) const {
    Words words = {"plan",        model, "--calibration-file", text_, "--length",       "64",
                   "--sequences", "12",  "--eval-sequences",   "3",   "--probe-tokens", "64",
                   "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  json planned(const std::string& model, const Words& more) const {
    Words words = plan(model, more);
    words.insert(words.end(), {"--format", "json"});
    return json::parse(output_of(words));
  }

  Words shrink(const std::string& model, const std::string& plan_file,
               const std::string& folder) const {
    return {"shrink", model, path(plan_file), "--calibration-file",
            text_,    "-o",  path(folder),    "--quiet"};
  }

  /// The number of items in a store; 0 before it has tables.
  static long items_of(const std::string& store) {
    try {
      return std::filesystem::exists(store) ? query_number(store, "SELECT count(*) FROM items") : 0;
    } catch (const std::runtime_error&) {
      return 0;
    }
  }

  /// Stops a plan as soon as its store has `items` items. Returns the number of stored items.
  static long stop_after(long items, const Words& words, const std::string& store) {
    RunningCommand run(words);
    run.wait_until([&] { return items_of(store) >= items; });
    run.send(SIGINT);
    const RunResult stopped = run.wait();
    EXPECT_EQ(stopped.exit_code, 128 + SIGINT);
    EXPECT_EQ(stopped.out, "");
    return items_of(store);
  }

  TempFolder scratch_;
  std::string text_;
};

}  // namespace attnscope::test
