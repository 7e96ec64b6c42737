// Completions that bash, zsh and fish offer at the end of a command line.
#include <array>
#include <cstdio>

#include "tests/support/program.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

std::string quoted(const std::string& text) { return "'" + text + "'"; }

std::string output_of_shell(const std::string& command) {
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run a shell");
  std::string text;
  std::array<char, 4096> buffer;
  for (std::size_t count = 1; count > 0;) {
    count = std::fread(buffer.data(), 1, buffer.size(), pipe);
    text.append(buffer.data(), count);
  }
  pclose(pipe);
  return text;
}

class CliCompletion : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (output_of_shell("command -v " + GetParam()).empty()) {
      GTEST_SKIP() << "needs " << GetParam() << " (./dev setup installs it)";
    }
    script_ = folder_.write("home/script", output_of({"completion", GetParam()})).string();
    folder_.write("here/weights.safetensors", "");
    folder_.write("here/notes.txt", "");
    folder_.write("here/other.gguf", "");
    fs::create_directory(folder_.path() / "here/model");
  }

  /// Sorted completions, without the option name before the value in the same word.
  Words offered(const std::string& line) const {
    // On a busy machine, the pseudo-terminal may lose input that is typed before zsh is ready.
    std::string output = output_of_shell(command_for(line));
    for (int again = 0; again < 3 && output.empty() && GetParam() == "zsh"; ++again) {
      output = output_of_shell(command_for(line));
    }
    Words words;
    for (std::string word : lines_of(output)) {
      if (word.starts_with("--") && contains(word, "=")) word.erase(0, word.find('=') + 1);
      if (word.ends_with('/')) word.pop_back();
      if (!word.empty()) words.push_back(word);
    }
    return sorted(words);
  }

 private:
  std::string command_for(const std::string& line) const {
    const std::string start = "cd " + quoted((folder_.path() / "here").string()) +
                              " && HOME=" + quoted((folder_.path() / "home").string()) + " ";
    if (GetParam() == "fish") {
      return start + "fish --no-config -c " +
             quoted("source " + script_ + "; complete -C \"" + line + "\"") + " | cut -f 1";
    }
    const std::string run = GetParam() + " " +
                            quoted(source_path("tests/cli/complete.") + GetParam()) + " " +
                            quoted(script_) + " ";
    if (GetParam() == "zsh") return start + run + quoted(line);
    // bash splits a command line at spaces, and makes a separate word of each `=`.
    std::string words = "''";
    for (const char c : line) {
      if (c == ' ') {
        words += " ''";
      } else if (c == '=') {
        words += " '=' ''";
      } else {
        words += c;
      }
    }
    for (std::size_t at = 0; (at = words.find("'=' ''", at)) != std::string::npos; ++at) {
      if (at + 6 == words.size()) words.erase(at + 3);  // nothing was typed after `=`
    }
    return start + run + words;
  }

  TempFolder folder_;
  std::string script_;
};

TEST_P(CliCompletion, OffersCommandsAndOptions) {
  EXPECT_EQ(offered("attnscope spec"), Words{"spectrum"});
  EXPECT_EQ(offered("attnscope spectrum --form"), Words{"--format"});
  EXPECT_EQ(offered("attnscope matrix --lay"), (Words{"--layer", "--layout"}));
  EXPECT_EQ(offered("attnscope info --per"), Words{});
  EXPECT_EQ(offered("attnscope completion z"), Words{"zsh"});
}

TEST_P(CliCompletion, OffersValues) {
  EXPECT_EQ(offered("attnscope spectrum --format "), (Words{"csv", "json", "table"}));
  EXPECT_EQ(offered("attnscope export --format=j"), Words{"json"});
  EXPECT_EQ(offered("attnscope weights --progress a"), (Words{"always", "auto"}));
  EXPECT_EQ(offered("attnscope circuits --circuit "), (Words{"ov", "qk"}));
  EXPECT_EQ(offered("attnscope similarity --bins "), Words{"fd"});
  EXPECT_EQ(offered("attnscope similarity --matrix s"),
            (Words{"shared_down", "shared_gate", "shared_up"}));
  EXPECT_EQ(offered("attnscope matrix --matrix ga"), Words{"gate"});
  EXPECT_EQ(offered("attnscope spectrum --threads "), Words{});
}

TEST_P(CliCompletion, CompletesTheLastPartOfAList) {
  EXPECT_EQ(offered("attnscope spectrum --matrix q,g"), Words{"q,gate"});
  EXPECT_EQ(offered("attnscope spectrum --matrix=q,v,d"), Words{"q,v,down"});
}

TEST_P(CliCompletion, OffersFilesWhereFilesAreExpected) {
  const Words all = {"model", "notes.txt", "other.gguf", "weights.safetensors"};
  EXPECT_EQ(offered("attnscope spectrum --out "), all);
  EXPECT_EQ(offered("attnscope spectrum model --layout n"), Words{"notes.txt"});
  EXPECT_EQ(offered("attnscope export "), all);
  EXPECT_EQ(offered("attnscope spectrum "), (Words{"model", "other.gguf", "weights.safetensors"}));
  EXPECT_EQ(offered("attnscope info model w"), Words{"weights.safetensors"});
}

INSTANTIATE_TEST_SUITE_P(Shell, CliCompletion, testing::Values("bash", "zsh", "fish"),
                         [](const auto& shell) { return shell.param; });

}  // namespace
}  // namespace attnscope::test
