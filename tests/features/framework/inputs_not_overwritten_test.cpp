// No command overwrites a file that it reads, under any name of the file.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "attnscope/cli/command_line.h"
#include "tests/support/program.h"
#include "tests/support/store_command.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

/// A model and input files of every kind that a command reads, each with different content.
class InputsNotOverwritten : public testing::Test {
 protected:
  void SetUp() override {
    fs::copy(source_path("examples/shakespeare-gpt2"), path("model"));
    folder_.write("book.txt", "To be, or not to be, that is the question");
    folder_.write("layout.json", read_file(data_path("layouts/gpt2.json")));
    output_of({"spectrum", path("model"), "--layers", "0", "--store", path("rows.sqlite")});
    folder_.write("tokens.bin", "a shard");  // rejected before it is read
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      if (entry.is_regular_file()) before_[entry.path()] = read_file(entry.path());
    }
  }

  void TearDown() override {
    for (const auto& [file, content] : before_) {
      EXPECT_EQ(read_file(file), content) << file << " is not what it was";
    }
  }

  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  /// The arguments that the command requires, without any output file.
  Words words_of(const Command& command) const {
    if (command.name == "export") return {"export", path("rows.sqlite")};
    Words words = {command.name, path("model")};
    if (command.name == "matrix") return words + Words{"--layer", "0", "--matrix", "q"};
    if (command.name == "predict" || command.name == "attention") {
      return words + Words{"--tokens", "1,2,3"};
    }
    if (command.name == "diff") return words + Words{source_path("examples/shakespeare-llama")};
    if (command.name == "shrink") return words + Words{path("layout.json")};
    if (command.name == "serve") return words + Words{"--port", "0"};
    return words;
  }

  /// Checks that the file is rejected as an output under other names: a symbolic link and a hard
  /// link.
  void expect_kept(const Words& command, const std::string& option, const std::string& file,
                   const std::string& what) {
    const fs::path other = path("other-name"), folder = path("drawn");
    const bool of_folder = option == "--charts";
    if (of_folder) {
      fs::create_directory(folder);
      fs::create_symlink(file, folder / "loss.svg");
    } else if (++kept_ % 2 == 0) {
      fs::create_symlink(file, other);
    } else {
      fs::create_hard_link(file, other);
    }
    expect_refusal(command + Words{option, (of_folder ? folder : other).string()}, kUsage,
                   {option, what, "choose another file"});
    fs::remove(other);
    fs::remove_all(folder);
  }

  TempFolder folder_;
  std::map<fs::path, std::string> before_;

 private:
  int kept_ = 0;  // number of files tried
};

bool exclude_each_other(const Command& command, const std::string& one, const std::string& other) {
  const auto excludes = [&](const std::string& first, const std::string& second) {
    return std::any_of(
        command.exclusions.begin(), command.exclusions.end(), [&](const Exclusion& exclusion) {
          return exclusion.parameter == first &&
                 std::find(exclusion.beside.begin(), exclusion.beside.end(), second) !=
                     exclusion.beside.end();
        });
  };
  return excludes(one, other) || excludes(other, one);
}

TEST_F(InputsNotOverwritten, RejectsEveryInputAsAnyOutput) {
  int outputs = 0;
  for (const Command& command : all_commands()) {
    for (const Parameter& output : command.parameters) {
      if (output.type != ParameterType::file || output.positional) continue;
      if (output.use == FileUse::read) continue;
      ++outputs;
      const std::string option = flag_of(output.name);
      const Words page = {"--out", path("page.html")};
      Words words = words_of(command);
      if (command.name == "report" && option == "--store") words = words + page;
      if (command.name == "export") {
        expect_kept(words, option, path("rows.sqlite"), "the file passed to STORE");
        continue;
      }
      expect_refusal(words + Words{option, path("model/config.json/below")}, kUsage, {option});
      for (const char* file : {"model.safetensors", "config.json", "tokenizer.json",
                               "tokenizer_config.json", "generation_config.json"}) {
        expect_kept(words, option, path("model/") + file, "is a file of the model 'model'");
      }
      for (const Parameter& input : command.parameters) {
        if (input.type != ParameterType::file || input.use != FileUse::read) continue;
        if (input.positional) continue;
        if (exclude_each_other(command, input.name, output.name)) continue;
        const bool is_text = input.name == "text_file" || input.name == "calibration_file";
        const std::string file = path(input.name == "layout" ? "layout.json"
                                      : is_text              ? "book.txt"
                                                             : "tokens.bin");
        Words with = {command.name, path("model"), flag_of(input.name), file};
        const bool needs_more =
            command.name == "matrix" || command.name == "diff" || command.name == "shrink";
        if (needs_more) with = words + Words{flag_of(input.name), file};
        if (command.name == "report" && option == "--store") with = with + page;
        expect_kept(with, option, file, "is the file passed to " + flag_of(input.name));
      }
    }
  }
  EXPECT_GE(outputs, 20);
}

TEST_F(InputsNotOverwritten, RejectsOriginalNamesToo) {
  const std::string model = path("model");
  const Words text = {"--text", "hi"};
  const auto refused = [&](const Words& words, const Words& said) {
    expect_refusal(words, kUsage, said);
  };
  refused(Words{"predict", model, "--save", model + "/model.safetensors"} + text,
          {"--save", "'" + model + "/model.safetensors' is a file of the model 'model'"});
  refused({"spectrum", model, "--out", model + "/../model/config.json"},
          {"--out", "model 'model'"});
  refused({"attention", model, "--text-file", path("book.txt"), "--out", path("book.txt")},
          {"--out", "--text-file"});
  refused({"export", path("rows.sqlite"), "--out", path("rows.sqlite-wal")}, {"--out"});
  refused({"info", model, "--layout", path("layout.json"), "--out", path("layout.json")},
          {"--out", "--layout"});
  refused({"spectrum", model + "/model.safetensors", "--out", model + "/tokenizer.json"},
          {"--out", "a file of the model"});
  refused(
      {"spectrum", model, "--tensor", "transformer.wte.weight", "--out", model + "/config.json"},
      {"--out", "a file of the model"});
}

TEST_F(InputsNotOverwritten, RejectsNamesThatTheModelWouldReadNextTime) {
  const std::string model = path("model"), other = path("other");
  fs::remove(model + "/tokenizer_config.json");
  before_.erase(model + "/tokenizer_config.json");
  expect_refusal({"spectrum", model, "--out", model + "/tokenizer_config.json"}, kUsage,
                 {"a file of the model"});
  // Next to a weight file with a nonstandard name, any second weight file would be ambiguous.
  fs::create_directory(other);
  fs::copy(model + "/model.safetensors", other + "/weights.safetensors");
  fs::copy(model + "/config.json", other + "/config.json");
  const Words predict = {"predict", other, "--tokens", "1,2", "--save"};
  for (const char* name : {"/run.safetensors", "/model.safetensors"}) {
    expect_refusal(predict + Words{other + name}, kUsage,
                   {"--save", "would be read as weights of the model 'other'"});
  }
  // With a standard file name, or if the file itself was named, another weight file is allowed.
  output_of({"predict", model, "--tokens", "1,2", "--save", model + "/run.safetensors"});
  output_of({"predict", other + "/weights.safetensors", "--tokens", "1,2", "--save",
             other + "/run.safetensors"});
  output_of({"spectrum", model, "--layers", "0", "--out", model + "/rows.json"});
}

TEST_F(InputsNotOverwritten, RejectsAMissingShardAsAnOutput) {
  const fs::path model = path("sharded");
  fs::create_directory(model);
  fs::copy(path("model/config.json"), model / "config.json");
  fs::copy(path("model/model.safetensors"), model / "one.safetensors");
  folder_.write(
      "sharded/model.safetensors.index.json",
      R"({"weight_map":{"transformer.wte.weight":"one.safetensors","x":"two.safetensors"}})");
  expect_refusal({"predict", model.string(), "--tokens", "1,2", "--save",
                  (model / "two.safetensors").string(), "--quiet"},
                 kUsage, {"--save", "a file of the model"});
}

TEST_F(InputsNotOverwritten, RejectsAnInputAsAppendedStdout) {
  const RunResult run = run_attnscope({"attention", path("model"), "--text-file", path("book.txt")},
                                      {.appends_to = path("book.txt")});
  EXPECT_EQ(run.exit_code, kUsage);
  EXPECT_TRUE(contains(run.err, "stdout: is the file passed to --text-file")) << run.err;
}

}  // namespace
}  // namespace attnscope::test
