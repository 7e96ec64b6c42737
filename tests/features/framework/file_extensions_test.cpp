// The file extension selects the format, or is rejected.
#include "tests/support/program.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

constexpr int kFileFormatsUsage = 2;

class CliFileFormats : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  /// The contents of the file that the command writes under this name.
  std::string written(const Words& command, const std::string& name) const {
    EXPECT_EQ(output_of(command + Words{"--out", path(name)}), "");
    return read_file(path(name));
  }

  const std::string llama_ = data_path("llama");
  const Words spectrum_ = {"spectrum", llama_},
              matrix_ = {"matrix", llama_, "--layer", "0", "--matrix", "q"};
  TempFolder folder_;
};

TEST_F(CliFileFormats, TheExtensionSelectsTheFormat) {
  for (const Words& command :
       {spectrum_, matrix_, Words{"info", llama_}, Words{"weights", llama_}}) {
    SCOPED_TRACE(command_text(command));
    const auto printed = [&](const char* format) {
      return output_of(command + Words{"--format", format});
    };
    EXPECT_EQ(written(command, "rows.json"), printed("json"));
    EXPECT_EQ(written(command, "rows.csv"), printed("csv"));
    EXPECT_EQ(written(command, "ROWS.CSV"), printed("csv"));
    EXPECT_EQ(written(command + Words{"--format", "csv"}, "again.csv"), printed("csv"));
    // File extensions without a known format.
    for (const char* name : {"rows", "rows.txt", "rows.d/of.csv.old", ".json", "rows.2024"}) {
      fs::create_directory(path("rows.d"));
      EXPECT_EQ(written(command, name), printed("table")) << name;
      EXPECT_EQ(written(command + Words{"--format", "json"}, name), printed("json")) << name;
    }
  }
  EXPECT_TRUE(written(matrix_, "q.npy").starts_with("\x93NUMPY"));
  EXPECT_TRUE(written(matrix_, "Q.NPY").starts_with("\x93NUMPY"));
}

TEST_F(CliFileFormats, RejectsAFormatThatContradictsTheExtension) {
  const auto refused = [&](const Words& command, const std::string& format,
                           const std::string& name) {
    expect_refusal(command + Words{"--format", format, "--out", path(name)}, kFileFormatsUsage,
                   {"--format", name.substr(name.find('.')), "--out"});
  };
  refused(spectrum_, "csv", "rows.json");
  refused(spectrum_, "table", "rows.json");
  refused(spectrum_, "json", "rows.csv");
  refused(matrix_, "csv", "rows.json");
  expect_refusal(matrix_ + Words{"--format", "json", "--out", path("q.npy")}, kFileFormatsUsage,
                 {"--format", ".npy"});
  EXPECT_TRUE(files_in(folder_.path()).empty());
}

TEST_F(CliFileFormats, RejectsAnExtensionOfAnotherFormat) {
  const std::string model = source_path("examples/shakespeare-gpt2");
  const Words text = {"--tokens", "1,2,3"};
  const struct {
    Words command;
    std::string option, name;
    Words possible;
  } refusals[] = {
      {spectrum_, "--out", "rows.npy", {".csv or .json"}},
      {spectrum_, "--out", "rows.html", {".csv or .json"}},
      {spectrum_, "--out", "rows.parquet", {".csv or .json"}},
      {spectrum_, "--out", "rows.csv.gz", {"unsupported file extension: .gz", ".csv or .json"}},
      {matrix_, "--out", "q.npz", {".npy, .csv or .json"}},
      {spectrum_, "--store", "rows.csv", {".sqlite, .sqlite3 or .db"}},
      {Words{"predict", model} + text, "--save", "run.npz", {".safetensors"}},
      {Words{"predict", model} + text, "--save", "run.json", {".safetensors"}},
      {Words{"attention", model} + text, "--maps", "m.npy", {".safetensors"}},
      {{"report", model}, "--out", "r.json", {".html or .htm"}},
      {{"report", model}, "-o", "r.PDF", {".html or .htm", "unsupported file extension: .pdf"}},
      {{"serve", model}, "--store", "rows.json", {".sqlite"}},
  };
  for (const auto& [command, option, name, possible] : refusals) {
    const std::string said = option == "-o" ? "--out" : option;
    expect_refusal(command + Words{option, path(name)}, kFileFormatsUsage,
                   Words{said, name} + possible);
  }
  EXPECT_TRUE(files_in(folder_.path()).empty());
}

TEST_F(CliFileFormats, ADashIsStdoutOrStdin) {
  const RunOptions here = {.folder = folder_.path()};
  EXPECT_EQ(output_of(spectrum_ + Words{"--out", "-"}, here), output_of(spectrum_));
  EXPECT_EQ(output_of(spectrum_ + Words{"-o", "-", "--format", "json"}, here),
            output_of(spectrum_ + Words{"--format", "json"}));
  EXPECT_EQ(output_of(matrix_ + Words{"--out", "/dev/stdout"}), output_of(matrix_));
  const std::string model = source_path("examples/shakespeare-gpt2");
  const std::string text = "To be, or not to be, that is the question";
  folder_.write("stdin", text);  // the file name appears in the report
  const Words predict = {"predict", model, "--format", "json", "--text-file"};
  const std::string expected = output_of(predict + Words{path("stdin")});
  for (const bool piped : {false, true}) {
    for (const char* name : {"-", "/dev/stdin"}) {
      EXPECT_EQ(output_of(predict + Words{name}, {.input = text, .input_is_piped = piped}),
                expected)
          << name << piped;
    }
  }
  // Input from a pipe is available to every model, and to every section of a report.
  const Words both = {"attention", model, source_path("examples/shakespeare-llama"),
                      "--length",  "8",   "--text-file"};
  EXPECT_EQ(output_of(both + Words{"-"}, {.input = text, .input_is_piped = true}),
            output_of(both + Words{path("stdin")}));
  EXPECT_EQ(files_in(folder_.path()), Words{"stdin"});
}

TEST_F(CliFileFormats, OneStreamAcceptsOneOutput) {
  const std::string model = source_path("examples/shakespeare-gpt2");
  const Words predict = {"predict", model, "--tokens", "1,2,3", "--save", "-"};
  expect_refusal(predict, kFileFormatsUsage, {"stdout: is the file passed to --save"});
  const std::string saved = output_of(predict + Words{"--out", path("rows.json")});
  output_of({"predict", model, "--tokens", "1,2,3", "--save", path("run.safetensors"), "--out",
             path("rows.json")});
  EXPECT_EQ(saved, read_file(path("run.safetensors")));
}

}  // namespace
}  // namespace attnscope::test
