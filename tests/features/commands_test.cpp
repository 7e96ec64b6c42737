// The descriptions of commands and their parameters.
#include "attnscope/features/all_commands.h"
#include "attnscope/features/framework/command.h"

#include <gtest/gtest.h>

#include <set>

#include "attnscope/base/text.h"
#include "attnscope/cli/command_line.h"
#include "attnscope/features/framework/parameter_values.h"
#include "attnscope/rows/writers.h"
#include "tests/support/expect_error.h"
#include "tests/support/shell_words.h"

namespace attnscope::test {
namespace {

using Words = std::vector<std::string>;

const Command& command(std::string_view name) { return *find_command(all_commands(), name); }

/// The command line's error message for the words after a command's name; empty if there is none.
std::string message_of(const Command& command, const Words& words) {
  try {
    parse_words(command, words);
  } catch (const Error& error) {
    return error_text(error.parts(), spelling(command));
  }
  return "";
}

TEST(Commands, NamesAreUnique) {
  std::set<std::string> names;
  for (const Command& command : all_commands()) {
    SCOPED_TRACE(command.name);
    EXPECT_TRUE(names.insert(command.name).second);
    EXPECT_FALSE(command.summary.empty());
    EXPECT_FALSE(command.examples.empty());
    EXPECT_TRUE((command.run != nullptr) != (command.write != nullptr));
    std::set<std::string> parameters;
    for (const Parameter& parameter : command.parameters) {
      SCOPED_TRACE(parameter.name);
      EXPECT_TRUE(parameters.insert(parameter.name).second);
      EXPECT_EQ(parameter.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string::npos);
      EXPECT_FALSE(full_help(parameter).empty());
      EXPECT_EQ(parameter.metavariable.empty(), parameter.type == ParameterType::flag);
    }
  }
}

TEST(Commands, RefersOnlyToParametersThatExist) {
  for (const Command& command : all_commands()) {
    SCOPED_TRACE(command.name);
    for (const Exclusion& exclusion : command.exclusions) {
      EXPECT_NE(find_parameter(command, exclusion.parameter), nullptr) << exclusion.parameter;
      EXPECT_FALSE(exclusion.reason.empty());
      for (const std::string& other : exclusion.beside) {
        EXPECT_NE(find_parameter(command, other), nullptr) << other;
      }
    }
    for (const Parameter& parameter : command.parameters) {
      if (parameter.not_needed_with.empty()) continue;
      EXPECT_NE(find_parameter(command, parameter.not_needed_with), nullptr)
          << parameter.not_needed_with;
    }
  }
}

TEST(Commands, DeclareHowTheyUseFiles) {
  const std::set<std::string> read = {"layout",
                                      "text_file",
                                      "token_file",
                                      "target_file",
                                      "calibration_file",
                                      "calibration_token_file",
                                      "calibration_target_file",
                                      "eval_file",
                                      "eval_target_file",
                                      "image",
                                      "audio",
                                      "features",
                                      "edits",
                                      "pixel_values",
                                      "plan",
                                      "activations",
                                      "plan_text",
                                      "prompts",
                                      "tuned_lens",
                                      "chat"};
  for (const Command& command : all_commands()) {
    for (const Parameter& parameter : command.parameters) {
      SCOPED_TRACE(command.name + " " + parameter.name);
      const bool is_file = parameter.type == ParameterType::file;
      // predict --activations takes names.
      const bool is_read = read.contains(parameter.name) &&
                           !(command.name == "predict" && parameter.name == "activations");
      EXPECT_EQ(is_file && parameter.use == FileUse::read, is_read);
      const bool is_made = is_file && parameter.use != FileUse::read && !parameter.positional;
      const bool is_distinguished = parameter.name == "plan";  // tells a plan file from a model
      EXPECT_EQ(parameter.endings.empty(), !is_made && !is_distinguished);
    }
  }
}

TEST(CommandLine, ADashMeansStdinOrStdout) {
  const auto given = [](const Words& words) { return *parse_words(command("attention"), words); };
  EXPECT_EQ(given({"m", "--text-file", "-"}).text("text_file"), "/dev/stdin");
  EXPECT_EQ(given({"m", "--text-file=-"}).text("text_file"), "/dev/stdin");
  EXPECT_EQ(given({"m", "-o", "-"}).text("out"), "/dev/stdout");
  EXPECT_EQ(given({"m", "--maps", "-"}).text("maps"), "/dev/stdout");
  EXPECT_EQ(given({"m", "--store", "-"}).text("store"), "-");  // a file with this name
  EXPECT_EQ(given({"m", "--text", "-"}).texts("text"), Words{"-"});
  EXPECT_EQ(given({"m", "-o", "./-"}).text("out"), "./-");
}

TEST(Commands, DefaultsAreValidValues) {
  for (const Command& command : all_commands()) {
    for (const Parameter& parameter : command.parameters) {
      SCOPED_TRACE(command.name + " " + parameter.name);
      if (!parameter.default_text.empty()) value_from_text(parameter, parameter.default_text);
      if (!parameter.implied_text.empty()) value_from_text(parameter, parameter.implied_text);
      for (const std::string& choice : parameter.choices) value_from_text(parameter, choice);
    }
  }
}

TEST(Commands, ExamplesParse) {
  for (const Command& command : commands()) {
    for (const Example& example : command.examples) {
      const std::string line = example_line(command, example);
      SCOPED_TRACE(line);
      Words words = split(line, ' ');
      words.erase(words.begin(), words.begin() + 2);
      EXPECT_EQ(message_of(command, words), "");
    }
  }
}

TEST(Commands, QuotesCommandLinesForTheShell) {
  for (const char* text : {"plain", "a b", "$HOME", "`id`", "it's", "a\"b", "\"$x\" 'y'",
                           "a;b&c|d<e>f", "#x", "~root", "back\\slash", "new\nline", "(a)", "bang!",
                           "*?[x]", "{a,b}", "=ls", "tab\there", "caf\xc3\xa9"}) {
    const std::string line =
        command_line_of(command("attention"), {{"models", text}, {"text", text}});
    EXPECT_EQ(test::shell_words(line), (Words{"attention", text, "--text", text})) << line;
  }
  EXPECT_EQ(command_line_of(command("attention"), {{"models", "-x"}, {"text", "To be, or not"}}),
            "attnscope attention ./-x --text \"To be, or not\"");
}

TEST(Commands, OfferAllFormats) {
  Words names;
  for (const Format& format : formats()) names.emplace_back(format.name);
  EXPECT_EQ(find_parameter(command("spectrum"), "format")->choices, names);
}

TEST(Commands, ReportExclusionsUniformly) {
  const Command& spectrum = command("spectrum");
  EXPECT_EQ(
      message_of(spectrum, {"m", "--tensor", "x", "--layers", "0", "--per-head", "--matrix=q"}),
      "--tensor: analyzes a single tensor; cannot be combined with --matrix, --layers and "
      "--per-head");
  EXPECT_EQ(message_of(command("info"), {"m", "--system"}),
            "--system: reports on this machine; cannot be combined with MODEL");
  try {
    parse_words(spectrum, Words{"m", "--mla", "--rank", "3"});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.parts().parameter, "mla");
    EXPECT_EQ(error.parts().beside, Words{"rank"});
  }
}

TEST(Commands, NameMissingArguments) {
  EXPECT_EQ(message_of(command("matrix"), {"m", "--matrix", "q"}),
            "--layer: missing (for example: --layer 0 --matrix q)");
  EXPECT_EQ(message_of(command("export"), {}), "STORE: missing; pass a file written by --store");
  EXPECT_EQ(message_of(command("spectrum"), {}),
            "MODEL: missing model (pass a folder with config.json and weights)");
  EXPECT_EQ(message_of(command("info"), {"--system"}), "");
}

TEST(Arguments, AcceptOtherSpellingsOfMatrices) {
  const auto arguments = parse_words(
      command("spectrum"), Words{"m", "--matrix", "Q,W_K,v_proj,W_O,gate_proj,W_in,W_out,QK"});
  ASSERT_TRUE(arguments);
  EXPECT_EQ(arguments->roles("matrix"),
            (std::vector{Role::query, Role::key, Role::value, Role::output, Role::gate, Role::up,
                         Role::down, Role::qk}));
  const std::string message = message_of(command("spectrum"), {"m", "--matrix", "W_X"});
  EXPECT_NE(message.find("'W_X' is not a matrix"), std::string::npos) << message;
}

TEST(Arguments, NameWhatIsNotAHead) {
  for (const char* wrong : {"L1H0.x", "L1", "5", "L1Hx", "LH", "L1H"}) {
    const std::string message =
        message_of(command("ablate"), {"m", "--induction", "--receiver", wrong});
    EXPECT_NE(message.find("'" + std::string(wrong) + "' is not a head (for example: L5H3,"),
              std::string::npos)
        << message;
  }
  EXPECT_EQ(message_of(command("ablate"), {"m", "--induction", "--receiver", "L1H0.k"}), "");
}

TEST(Arguments, StoreValuesByName) {
  const auto arguments = parse_words(
      command("spectrum"), Words{"a", "--layers", "-3--1,5-,2-2", "b", "--rank", "007,0.10D,7",
                                 "--per-head", "--memory=2G", "--energy", "0.99,0.5,0.99"});
  ASSERT_TRUE(arguments);
  EXPECT_EQ(arguments->texts("models"), (Words{"a", "b"}));
  EXPECT_EQ(*arguments->layers("layers").parameter().get<std::string>(), "-3-,5-,2");
  EXPECT_TRUE(arguments->layers("absent").parameter().is_null());
  const auto& ranks = *arguments->find<std::vector<Rank>>("rank");
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_EQ(ranks[0].text(), "7");
  EXPECT_EQ(ranks[1].text(), "0.1D");
  EXPECT_TRUE(arguments->flag("per_head"));
  EXPECT_FALSE(arguments->flag("values"));
  EXPECT_EQ(*arguments->find<std::uint64_t>("memory"), 2ull << 30);
  EXPECT_EQ(arguments->shares("energy"), (std::vector<double>{0.5, 0.99}));
  EXPECT_EQ(arguments->text("format"), "table");  // the default
  EXPECT_FALSE(arguments->given("format"));
}

/// A flag with an optional value after `=`.
Command command_with_optional_choice() {
  return {.name = "fold",
          .parameters = {{.name = "models",
                          .type = ParameterType::models,
                          .positional = true,
                          .metavariable = "MODEL"},
                         {.name = "fold_norm",
                          .type = ParameterType::choice,
                          .metavariable = "KIND",
                          .choices = {"gain", "centered"},
                          .implied_text = "gain",
                          .noun = "kind"}}};
}

TEST(CommandLine, AFlagMayTakeAChoice) {
  const Command fold = command_with_optional_choice();
  EXPECT_EQ(parse_words(fold, Words{"--fold-norm", "m"})->text("fold_norm"), "gain");
  EXPECT_EQ(parse_words(fold, Words{"--fold-norm", "m"})->texts("models"), Words{"m"});
  EXPECT_EQ(parse_words(fold, Words{"--fold-norm=centered"})->text("fold_norm"), "centered");
  EXPECT_EQ(parse_words(fold, Words{})->text("fold_norm"), "");
  EXPECT_EQ(
      message_of(fold, {"--fold-norm=center"}),
      "--fold-norm: 'center' is not a kind (did you mean 'centered'?); kinds: gain, centered");
  EXPECT_EQ(usage_of(*find_parameter(fold, "fold_norm")), "--fold-norm[=KIND]");
}

TEST(CommandLine, ValuesMayFollowOrBeJoinedByAnEqualsSign) {
  const Command& weights = command("weights");
  EXPECT_EQ(message_of(weights, {"m", "--threads"}), "--threads: requires a value");
  EXPECT_EQ(message_of(weights, {"m", "--threads="}), "--threads: requires a value");
  EXPECT_EQ(message_of(weights, {"m", "--out", "", "--format", "csv"}), "--out: requires a value");
  EXPECT_EQ(message_of(weights, {"m", "--quiet=1"}), "--quiet: does not take a value");
  EXPECT_EQ(message_of(weights, {"m", "--quiet", "--quiet"}), "");
  EXPECT_EQ(message_of(weights, {"m", "--threads=1", "--threads", "2"}),
            "--threads: given twice, expected once");
  EXPECT_EQ(message_of(command("export"), {"a", "b"}),
            "b: unexpected argument (see attnscope export --help)");
  EXPECT_FALSE(parse_words(weights, Words{"m", "-h"}));
  EXPECT_EQ(parse_words(weights, Words{"--", "--quiet"})->texts("models"), Words{"--quiet"});
}

}  // namespace
}  // namespace attnscope::test
