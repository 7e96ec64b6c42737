// Help, version, shell completions and the manual page.
#include <cctype>
#include <cstring>

#include "tests/support/program.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

const Words kCommands = {"info",   "experts",   "circuits", "spectrum", "weights", "similarity",
                         "matrix", "attention", "predict",  "export",   "explain", "serve",
                         "plan",   "shrink",    "diff",     "lens",     "ablate",  "directions"};

/// The words of a command line. A quoted text is one word.
Words typed_words(const std::string& line) {
  Words words;
  bool quoted = false, open = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
      continue;
    }
    if (c == ' ' && !quoted) {
      open = false;
      continue;
    }
    if (!open) words.emplace_back();
    open = true;
    words.back() += c;
  }
  return words;
}

/// The command lines in a command's help, without redirections and other shell syntax.
std::vector<Words> examples_in(const std::string& help) {
  const std::size_t start = help.find("Examples:\n");
  std::vector<Words> examples;
  if (start == std::string::npos) return examples;
  for (const std::string& line : lines_of(help.substr(start))) {
    Words words = typed_words(line.substr(0, line.find('>')));
    if (words.empty() || words.front() != "attnscope") continue;
    words.erase(words.begin());
    examples.push_back(words);
  }
  return examples;
}

TEST(CliHelp, WithoutArgumentsShowsTheCommandsOnStderr) {
  const RunResult run = run_attnscope({});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.out, "");
  for (const std::string& command : kCommands) EXPECT_TRUE(contains(run.err, command)) << run.err;
}

TEST(CliHelp, VersionIsOneLine) {
  const std::string out = output_of({"--version"});
  ASSERT_EQ(lines_of(out).size(), 1u) << out;
  EXPECT_TRUE(out.starts_with("attnscope ")) << out;
  EXPECT_TRUE(std::isdigit(static_cast<unsigned char>(out.at(10)))) << out;
}

TEST(CliHelp, ListsEveryCommand) {
  const std::string help = output_of({"--help"});
  for (const std::string& command : kCommands) EXPECT_TRUE(contains(help, command)) << help;
  EXPECT_EQ(output_of({"-h"}), help);
}

TEST(CliHelp, EveryCommandExplainsItsOptions) {
  const struct {
    std::string command;
    Words options;
  } commands[] = {
      {"info", {"--system", "--suggest-layout", "--layout", "--format", "--out", "--quiet"}},
      {"circuits",
       {"--circuit", "--energy", "--fold-norm", "--with-bias", "--rope-offset", "--all-eigenvalues",
        "--composition", "--layers", "--threads", "--format"}},
      {"matrix", {"--layer", "--matrix", "--head", "--out", "--format"}},
      {"spectrum",
       {"--matrix", "--per-head", "--energy", "--values", "--tensor", "--layers", "--threads",
        "--memory", "--progress", "--quiet", "--format", "--out", "--layout", "--store"}},
      {"predict",
       {"--text", "--text-file", "--tokens", "--top", "--generate", "--perplexity", "--stride",
        "--save", "--threads", "--format"}},
      {"explain", {"--format", "--schema"}},
      {"export", {"--command", "--set", "--model", "--format", "--out"}},
  };
  for (const auto& [command, options] : commands) {
    const std::string help = output_of({command, "--help"});
    for (const std::string& option : options) {
      EXPECT_TRUE(contains(help, option)) << command << " lacks " << option;
    }
    EXPECT_EQ(output_of({command, "-h"}), help);
  }
}

TEST(CliHelp, GroupsOptions) {
  const std::string help = output_of({"attention", "--help"});
  std::size_t last = 0;
  for (const std::string line :
       {"Modes (choose one):", "  --heatmap HEAD", "Options:", "  -h, --help",
        "Input:", "  --text-file FILE", "Output:", "  -o, --out FILE",
        "Performance:", "  --threads N", "Examples:"}) {
    const std::size_t at = help.find("\n" + line);
    ASSERT_NE(at, std::string::npos) << line << " is missing in\n" << help;
    EXPECT_GT(at, last) << line;
    last = at;
  }
  const std::string page = output_of({"completion", "man"});
  EXPECT_TRUE(contains(page, ".SS Modes (choose one)\n.TP\n.B \\-\\-induction")) << page;
}

/// A shard of so many tokens.
std::string token_shard(std::int32_t count) {
  std::string bytes(256 * sizeof(std::int32_t), '\0');
  const std::int32_t header[] = {20240520, 1, count};
  std::memcpy(bytes.data(), header, sizeof header);
  for (std::int32_t at = 0; at < count; ++at) {
    bytes += {static_cast<char>(at * 7 % 47), '\0'};
  }
  return bytes;
}

/// Copies a tiny model and adds a tokenizer of a few words, which its files lack.
std::string with_tokenizer(const std::string& model, const TempFolder& folder) {
  const fs::path own = folder.path() / fs::path(model).filename();
  fs::create_directories(own);
  for (const auto& file : fs::directory_iterator(data_path(model))) {
    const fs::path link = own / file.path().filename();
    if (!fs::exists(link)) fs::create_symlink(file.path(), link);
  }
  json words = {{"<pad>", 0}, {"</s>", 1}, {"<unk>", 2}};
  for (const char* word : {"a", "cat", "dog", "Good", "night", "Gute", "Nacht", "."}) {
    words[word] = words.size();
  }
  const json tokenizer = {
      {"version", "1.0"},
      {"added_tokens", json::array()},
      {"pre_tokenizer", {{"type", "Whitespace"}}},
      {"model", {{"type", "WordLevel"}, {"vocab", words}, {"unk_token", "<unk>"}}}};
  std::ofstream(own / "tokenizer.json") << tokenizer.dump();
  return own.string();
}

/// The arguments of an example, with model names replaced by models that can run it.
Words with_models(Words words, const TempFolder& folder) {
  const auto has = [&](const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  const auto rename = [&](const std::string& from, const std::string& to) {
    const auto at = std::find(words.begin(), words.end(), from);
    if (at != words.end()) *at = to;
    return at;
  };
  std::string model = "examples/shakespeare-llama";
  if (has("--experts") || words.front() == "experts") model = data_path("forward/glm4_moe");
  if (has("--image")) {
    model = data_path("stacks/vit");
    rename("cat.jpg", data_path("images/odd.png"));
  }
  if (has("--target") || has("--target-file")) {
    model = with_tokenizer("encoder_decoders/t5", folder);
  }
  // It ablates more than a hundred sets of heads.
  if (has("--cumulative")) words.insert(words.end(), {"--sequences", "2"});
  rename("MODEL", model);
  rename("CLIP", has("CLIP") ? with_tokenizer("stacks/clip", folder) : "");
  return words;
}

TEST(HelpExamples, EveryExampleRuns) {
  // Runs in a folder that contains `examples` and can receive output files, as for a user.
  const TempFolder folder;
  std::string book;
  while (book.size() < 100'000) book += "To be, or not to be, that is the question.\n";
  folder.write("book.txt", book);
  folder.write("val.bin", token_shard(20'000));
  folder.write("texts.txt", "a cat\na dog\n");
  folder.write("en.txt", "Good night .\n");
  folder.write("de.txt", "Gute Nacht .\n");
  fs::create_directory_symlink(source_path("examples"), folder.path() / "examples");
  for (const std::string& command : kCommands) {
    const auto examples = examples_in(output_of({command, "--help"}));
    EXPECT_FALSE(examples.empty()) << command << " has no example";
    for (const Words& words : examples) {
      EXPECT_EQ(words.front(), command);
      if (command == "serve") continue;  // runs until it is stopped: see tests/serve/
      // These need a second model or a plan, or run for a minute: see tests/features/plan.
      if (command == "plan" || command == "shrink" || command == "diff") continue;
      const auto has = [&](const char* word) {
        return std::find(words.begin(), words.end(), word) != words.end();
      };
      // Some examples print notes: CLIP without texts, a report of an encoder-decoder with two
      // stacks, the logit lens of an encoder, and the memory of spectra on a text. Effects on
      // prompts print that five prompts are too few for significance.
      const bool notes = has("CLIP") || has("--activations") ||
                         (command == "report" && (has("--target") || has("--target-file"))) ||
                         (command == "lens" && has("--target-file")) || has("--prompts");
      const RunResult run = run_attnscope(with_models(words, folder), {.folder = folder.path()});
      EXPECT_EQ(run.exit_code, 0) << testing::PrintToString(words) << run.err;
      if (!notes) {
        EXPECT_EQ(without_notes_on_towers(run.err), "") << testing::PrintToString(words);
      }
    }
  }
}

TEST(CliHelp, CompletionsAndTheManualKnowEveryCommand) {
  for (const std::string kind : {"bash", "zsh", "fish", "man"}) {
    const std::string text = output_of({"completion", kind});
    for (const std::string& command : kCommands) {
      EXPECT_TRUE(contains(text, command)) << kind << " lacks " << command;
    }
    // The manual page escapes hyphens so that they can be copied.
    EXPECT_TRUE(contains(text, kind == "man" ? "\\-\\-per\\-head" : "per-head")) << kind;
  }
  const std::string help = output_of({"completion", "--help"});
  EXPECT_TRUE(contains(help, "attnscope completion bash > ~/.local/share/")) << help;
  EXPECT_FALSE(contains(help, "\"")) << help;
}

}  // namespace
}  // namespace attnscope::test
