// Names of models in the output.
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

TEST(CliModelName, IsTheNameOfTheFolderOrFile) {
  const TempFolder folder;
  const std::string path = TinyLlama(1).write(folder, "a model");
  const auto name_in = [](const Words& command, const RunOptions& options = {}) {
    return json::parse(output_of(command + Words{"--format", "json"}, options))["rows"][0]["model"];
  };
  EXPECT_EQ(name_in({"spectrum", path}), "a model");
  EXPECT_EQ(name_in({"spectrum", path + "/"}), "a model");
  EXPECT_EQ(name_in({"spectrum", path + "/../a model/."}), "a model");
  EXPECT_EQ(name_in({"spectrum", "."}, {.folder = path}), "a model");
  EXPECT_EQ(name_in({"spectrum", path + "/model.safetensors"}), "model.safetensors");
  EXPECT_EQ(name_in({"spectrum", "model.safetensors"}, {.folder = path}), "model.safetensors");
}

TEST(CliModelName, IsExtendedIfTwoAreEqual) {
  const TempFolder folder;
  const Words paths = {TinyLlama(1, 1).write(folder, "first/run/final"),
                       TinyLlama(1, 2).write(folder, "second/run/final"),
                       TinyLlama(1, 3).write(folder, "second/other")};
  const Words expected = {"first/run/final", "second/run/final", "other"};
  const json report = report_of(Words{"spectrum", "--matrix", "q"} + paths);
  for (std::size_t index = 0; index < expected.size(); ++index) {
    EXPECT_EQ(report["models"][index]["name"], expected[index]);
    EXPECT_EQ(report["rows"][index]["model"], expected[index]);
    // Each name is printed with the numbers of its own model.
    json alone = report_of({"spectrum", "--matrix", "q", paths[index]})["rows"][0];
    alone["model"] = expected[index];
    EXPECT_EQ(report["rows"][index], alone);
  }
  const std::string table = output_of(Words{"spectrum", "--matrix", "q"} + paths);
  for (const std::string& name : expected) EXPECT_TRUE(contains(table, name)) << table;
}

TEST(CliModelName, MayBeInvalidUtf8) {
  const TempFolder folder;
  const std::string path = TinyLlama(1).write(folder, "caf\xe9");
  EXPECT_EQ(report_of({"spectrum", path})["models"][0]["name"], "caf\\xe9");
  EXPECT_TRUE(output_of({"spectrum", path}).starts_with("caf\\xe9"));
}

TEST(CliModelName, StripsTerminalEscapes) {
  const TempFolder folder;
  TinyLlama model(1);
  const std::string hostile =
      "evil\x1b[31m\n\x7f\xc2\x9b"
      "2J";
  model.tensors.push_back(counting_tensor(hostile, {2, 2}));
  const std::string path = model.write(folder, hostile);
  for (const Words& command : {Words{"spectrum", path}, Words{"info", path},
                               Words{"matrix", path, "--layer", "0", "--matrix", "q"},
                               Words{"spectrum", path, "--tensor", hostile}}) {
    SCOPED_TRACE(command.front());
    const std::string table = output_of(command);
    EXPECT_TRUE(contains(table, "evil")) << table;
    for (const char* control : {"\x1b", "\x7f", "\xc2\x9b"}) {
      EXPECT_FALSE(contains(table, control)) << table;
    }
    EXPECT_EQ(json::parse(output_of(command + Words{"--format", "json"}))["models"].size(), 1u);
  }
}

}  // namespace
}  // namespace attnscope::test
