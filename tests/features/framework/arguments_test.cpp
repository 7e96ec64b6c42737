#include "attnscope/features/framework/arguments.h"
#include "attnscope/features/all_commands.h"

#include <gtest/gtest.h>

#include "attnscope/features/framework/command.h"
#include "tests/support/expect_error.h"

namespace attnscope::test {
namespace {

using Words = std::vector<std::string>;

TEST(ArgumentsOf, JoinsModelsAndRejectsRepeatedOthers) {
  const Command& weights = find_command_named("weights");
  EXPECT_EQ(arguments_of(weights, {{"models", "a"}, {"models", "b"}}).texts("models"),
            (Words{"a", "b"}));
  EXPECT_ERROR_SAYING(ErrorKind::usage,
                      arguments_of(weights, {{"models", "a"}, {"threads", "1"}, {"threads", "2"}}),
                      "given twice, expected once");
}

/// Checks that arguments written as text are read back as the same arguments.
void expect_same_texts(const char* command, const ArgumentTexts& given) {
  std::vector<std::string_view> names;
  for (const auto& [name, text] : given) {
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  EXPECT_EQ(texts_of(arguments_of(find_command_named(command), given), names), given);
}

TEST(TextsOf, RoundTripsValuesOfEveryType) {
  expect_same_texts("spectrum", {{"models", "a"},
                                 {"models", "b,c"},
                                 {"matrix", "q,v"},
                                 {"per_head", ""},
                                 {"energy", "0.5,0.99"},
                                 {"rank", "7,0.1D"},
                                 {"layers", "0-3,-4-"},
                                 {"threads", "2"},
                                 {"memory", "2048B"},
                                 {"format", "csv"},
                                 {"store", "rows.sqlite"}});
  expect_same_texts("weights", {{"models", "a"}, {"bins", "fd"}, {"range", "-0.25,0.5"}});
  expect_same_texts("weights", {{"models", "a"}, {"bins", "80"}});
  expect_same_texts("matrix", {{"models", "a"}, {"layer", "0"}, {"matrix", "k"}});
  expect_same_texts("report",
                    {{"models", "a"}, {"text", "a b"}, {"maps", "L-1H3"}, {"out", "o.html"}});
}

TEST(TextsOf, OmitsDefaultsAndMissingValues) {
  constexpr std::string_view kNames[] = {"energy", "format", "layers", "models"};
  const Arguments arguments = arguments_of(find_command_named("spectrum"), {{"models", "a"}});
  EXPECT_EQ(texts_of(arguments, kNames), (ArgumentTexts{{"models", "a"}}));
}

}  // namespace
}  // namespace attnscope::test
