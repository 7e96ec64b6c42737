// Models whose tensors have the names of their family after something else.
#include "tests/support/program.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

/// A copy of a model in which `rename` gives each tensor its names.
template <class Rename>
fs::path renamed_model(const fs::path& folder, const std::string& data, Rename rename) {
  fs::copy(data_path(data) + "/config.json", folder);
  const std::string file = read_file(data_path(data) + "/model.safetensors");
  std::uint64_t old_size = 0;
  std::memcpy(&old_size, file.data(), sizeof(old_size));
  const json old = json::parse(file.substr(sizeof(old_size), old_size));
  json header = json::object();
  for (const auto& [name, entry] : old.items()) {
    if (name != "__metadata__") header[rename(name)] = entry;
  }
  const std::string text = header.dump();
  const std::uint64_t size = text.size();
  std::ofstream out(folder / "model.safetensors", std::ios::binary);
  out.write(reinterpret_cast<const char*>(&size), sizeof(size));
  out << text << file.substr(sizeof(old_size) + old_size);
  return folder;
}

json rows_of_model(const Words& arguments) {
  const RunResult run = run_attnscope(arguments + Words{"--format", "json", "--quiet"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  json rows = json::parse(run.out)["rows"];
  for (json& row : rows) row.erase("model");
  return rows;
}

TEST(CliWrapperPrefix, ModelsInsideModulesAreTheSame) {
  for (const std::string data : {"forward/llama", "forward/bert", "forward/gpt2", "stacks/clip"}) {
    for (const std::string prefix : {"model.", "transformer.", "module.net."}) {
      SCOPED_TRACE(data + " in " + prefix);
      const TempFolder temp;
      const fs::path folder =
          renamed_model(temp.path(), data, [&](const std::string& name) { return prefix + name; });
      const Words spectrum = {"spectrum"}, predict = {"predict", "--tokens", "3,7,1,9,4"};
      EXPECT_EQ(rows_of_model(spectrum + Words{folder}),
                rows_of_model(spectrum + Words{data_path(data)}));
      if (data.starts_with("stacks")) continue;
      EXPECT_EQ(rows_of_model(predict + Words{folder}),
                rows_of_model(predict + Words{data_path(data)}));
      EXPECT_TRUE(contains(run_attnscope({"info", folder}).err,
                           "the prefix '" + prefix + "' of tensor names is ignored"));
    }
  }
}

TEST(CliWrapperPrefix, AMultimodalModelMayHaveNoOuterName) {
  const TempFolder temp;
  const fs::path folder = renamed_model(
      temp.path(), "forward/gemma3-multimodal-5",
      [](const std::string& name) { return name.starts_with("model.") ? name.substr(6) : name; });
  EXPECT_EQ(rows_of_model({"spectrum", folder}),
            rows_of_model({"spectrum", data_path("forward/gemma3-multimodal-5")}));
}

TEST(CliWrapperPrefix, SeveralModelsAreRefused) {
  const TempFolder temp;
  const fs::path folder = renamed_model(temp.path(), "forward/llama", [](const std::string& name) {
    return (contains(name, "layers.0") ? "student." : "teacher.") + name;
  });
  expect_refusal({"spectrum", folder}, kBadFile,
                 {"contains several models, whose names begin with student., teacher."});
}

}  // namespace
}  // namespace attnscope::test
