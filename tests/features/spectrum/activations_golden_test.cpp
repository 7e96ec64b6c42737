// `spectrum --activations` compared with float64 NumPy (tools/golden_activations.py): energy ranks
// of matrices on a text.
#include <filesystem>

#include "tests/features/attention/attention_model.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

/// The tiny model with a word tokenizer, in which "w7" is token 7.
std::string tiny_with_words(const TempFolder& folder, const std::string& name) {
  const fs::path to = folder.path() / name;
  fs::create_directories(to);
  for (const char* file : {"config.json", "model.safetensors"}) {
    fs::copy_file(fs::path(tiny_model(name)) / file, to / file);
  }
  json vocabulary;
  for (int id = 0; id < 48; ++id) vocabulary["w" + std::to_string(id)] = id;
  const json tokenizer = {
      {"version", "1.0"},
      {"added_tokens", json::array()},
      {"pre_tokenizer", {{"type", "Whitespace"}}},
      {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "w0"}}}};
  folder.write(name + "/tokenizer.json", tokenizer.dump());
  return to.string();
}

Words activations_on(const TempFolder& folder, const json& golden) {
  std::string text;
  for (const json& id : golden["ids"]) text += "w" + id.dump() + " ";
  return {"spectrum",      tiny_with_words(folder, golden["model"]),
          "--activations", folder.write("text.txt", text).string(),
          "--energy",      "0.6,0.9,0.99",
          "--quiet"};
}

/// Inputs are float32 sums of up to 40 products, with a relative error of about √40 2^-24. An
/// energy share has at most four times the relative error of the inputs. The largest observed error
/// was 1.5e-7.
constexpr double kShareError = 4 * 7 * 0x1p-24;

json activation_goldens() { return json::parse(read_file(data_path("plan/activations.json"))); }

TEST(ActivationsGolden, RanksOnATextEqualNumPy) {
  for (const json& golden : activation_goldens()) {
    SCOPED_TRACE(golden["model"].get<std::string>() + " " + golden["text"].get<std::string>());
    const TempFolder folder;
    const json report = report_of(activations_on(folder, golden));
    EXPECT_EQ(report["parameters"]["sequences"], golden["sequences"]);
    EXPECT_EQ(report["parameters"]["length"], golden["length"]);
    const json &rows = report["rows"], &expected = golden["rows"];
    ASSERT_EQ(rows.size(), expected.size());
    for (std::size_t at = 0; at < rows.size(); ++at) {
      const json& wanted = expected[at];
      SCOPED_TRACE(json({wanted["layer"], wanted["matrix"]}).dump());
      for (const char* exact : {"layer", "matrix", "shape", "energy_rank", "activation_energy_rank",
                                "input_energy_rank", "max_possible_rank"}) {
        EXPECT_EQ(rows[at][exact], wanted[exact]) << exact;
      }
      EXPECT_NEAR(rows[at]["input_top_share"].get<double>(),
                  wanted["input_top_share"].get<double>(), kShareError);
    }
  }
}

TEST(ActivationsGolden, BaselinesDependOnTheWeightsOnly) {
  const TempFolder folder;
  const json golden = activation_goldens()[0];
  Words words = activations_on(folder, golden);
  const json rows = report_of(words)["rows"];
  const json own = report_of({"spectrum", words[1], "--energy", "0.6,0.9,0.99"})["rows"];
  ASSERT_EQ(rows.size(), own.size());
  for (std::size_t at = 0; at < rows.size(); ++at) {
    EXPECT_EQ(rows[at]["energy_rank"], own[at]["energy_rank"]);
    EXPECT_EQ(rows[at]["random_energy_rank"], own[at]["random_energy_rank"]);
  }
}

TEST(ActivationsGolden, NotesThatAShortTextBoundsTheRanks) {
  for (const json& golden : activation_goldens()) {
    const TempFolder folder;
    Words words = activations_on(folder, golden);
    words.pop_back();  // --quiet
    const std::string err = run_attnscope(words).err;
    EXPECT_EQ(contains(err, "the text has 10 tokens, fewer than the 40 inputs"),
              golden["text"] == "short")
        << err;
  }
}

}  // namespace
}  // namespace attnscope::test
