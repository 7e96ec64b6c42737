// BASE+ADAPTER as a model of every command.
#include <filesystem>

#include "tests/support/program.h"
#include "tests/support/safetensors_writer.h"

namespace attnscope::test {
namespace {

const std::string kBase = data_path("adapters/base-llama"), kLora = data_path("adapters/plain");
const std::string kBoth = kBase + "+" + kLora;

json adapter_config(const std::string& adapter) {
  return json::parse(read_file(adapter + "/adapter_config.json"));
}

/// A copy of an adapter with changes of its config.
std::string copy_with(const TempFolder& folder, const std::string& name, const json& changes) {
  json config = adapter_config(kLora);
  config.update(changes);
  folder.write(name + "/adapter_config.json", config.dump());
  folder.write(name + "/adapter_model.safetensors",
               read_file(kLora + "/adapter_model.safetensors"));
  return (folder.path() / name).string();
}

TEST(AdaptedModels, EveryCommandNamesBaseAndAdapter) {
  const Words commands[] = {{"info", kBoth},
                            {"spectrum", kBoth, "--matrix", "q"},
                            {"weights", kBoth, "--matrix", "q"},
                            {"circuits", kBoth},
                            {"similarity", kBoth},
                            {"directions", kBoth, "--layers", "0"},
                            {"predict", kBoth, "--tokens", "1,2,3"},
                            {"attention", kBoth, "--tokens", "1,2,3"},
                            {"lens", kBoth, "--tokens", "1,2,3"},
                            {"ablate", kBoth, "--tokens", "1,2,3"}};
  for (const Words& words : commands) {
    SCOPED_TRACE(words.front());
    EXPECT_EQ(report_of(words)["models"][0]["name"], "base-llama+plain");
  }
}

TEST(AdaptedModels, DiffersFromTheBaseOnlyInAdaptedMatrices) {
  const json rows = report_of({"diff", kBase, kBoth})["rows"];
  for (const json& row : rows) {
    const bool adapted = row["matrix"] == "q" || row["matrix"] == "down";
    EXPECT_EQ(row["change_norm"] > 0, adapted) << row;
  }
  EXPECT_EQ(report_of({"diff", kBase, kLora})["rows"], rows);
}

TEST(AdaptedModels, AnExistingPathWins) {
  const TempFolder folder;
  const std::string named = (folder.path() / "a+b").string();
  std::filesystem::copy(kBase, named);
  EXPECT_EQ(report_of({"info", named})["models"][0]["name"], "a+b");
  EXPECT_EQ(report_of({"info", named + "+" + kLora})["models"][0]["name"], "a+b+plain");
}

TEST(AdaptedModels, OpensTheBaseThatTheConfigNames) {
  const TempFolder folder;
  const std::string adapter = copy_with(folder, "lora", {{"base_model_name_or_path", kBase}});
  EXPECT_EQ(report_of({"info", adapter})["models"][0]["name"], "base-llama+lora");
  const std::string nowhere =
      copy_with(folder, "other", {{"base_model_name_or_path", "/no/such/base"}});
  expect_refusal({"info", nowhere}, kUsage, {"/no/such/base", "pass BASE+"});
  const std::string unnamed = copy_with(folder, "third", {{"base_model_name_or_path", nullptr}});
  expect_refusal({"info", unnamed}, kUsage, {"names no base model", "pass BASE+"});
  EXPECT_EQ(report_of({"info", kBase + "+" + nowhere})["models"].size(), 1u);
}

TEST(AdaptedModels, NamesAFolderThatIsNoAdapter) {
  expect_refusal({"info", kBase + "+" + kBase}, kIo, {"is not an adapter"});
  expect_refusal({"info", kBase + "+/no/such/adapter"}, kIo, {"/no/such/adapter"});
  const TempFolder folder;
  const std::string prompts = copy_with(folder, "p", {{"peft_type", "PROMPT_TUNING"}});
  for (const Words& words : {Words{"info", kBase + "+" + prompts},
                             Words{"predict", kBase + "+" + prompts, "--tokens", "1"}}) {
    expect_refusal(words, kUnsupported, {"prompt tuning", "base model alone"});
  }
}

/// The same tensors with another scale are other weights.
TEST(AdaptedModels, AStoreTellsAdaptersApartByTheirConfigs) {
  const TempFolder folder;
  const std::string store = (folder.path() / "store.db").string();
  const auto spectrum = [&](const std::string& adapter, bool stored) {
    Words words = {"spectrum", kBase + "+" + adapter, "--matrix", "q", "--values"};
    if (stored) words.insert(words.end(), {"--store", store});
    return report_of(words)["rows"];
  };
  const std::string one = copy_with(folder, "one", json::object());
  const std::string other = copy_with(folder, "other", {{"lora_alpha", 30}});
  const json first = spectrum(one, true);
  const auto values = [](const json& rows) { return rows[0]["singular_values"]; };
  EXPECT_NE(values(spectrum(other, true)), values(first));
  EXPECT_EQ(values(spectrum(other, true)), values(spectrum(other, false)));
  EXPECT_EQ(values(spectrum(one, true)), values(first));
}

TEST(AdaptedModels, FilesOfTheAdapterAreNotOverwritten) {
  const TempFolder folder;
  const std::string adapter = copy_with(folder, "lora", json::object());
  expect_refusal({"info", kBase + "+" + adapter, "--out", adapter + "/adapter_config.json"}, kUsage,
                 {"choose another file"});
}

}  // namespace
}  // namespace attnscope::test
