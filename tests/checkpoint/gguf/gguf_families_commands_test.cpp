// Commands give the same rows for GGUF files of recent architectures and for the safetensors files
// that they were converted from.
#include "tests/support/gguf_families.h"
#include "tests/support/program.h"

namespace attnscope::test {
namespace {

class GgufFamilyCommands : public testing::TestWithParam<GgufFamilyCase> {};

/// Rows of a command without the model's name, because the name comes from the file name.
json nameless_rows(Words arguments, const std::string& model) {
  arguments.insert(arguments.begin() + 1, model);
  json rows = report_of(arguments + Words{"--quiet"})["rows"];
  for (json& row : rows) row.erase("model");
  return rows;
}

/// gpt-oss stores its MXFP4 matrices as (inputs, outputs) in one format and (outputs, inputs) in
/// the other. Sums over their values therefore differ by rounding.
void expect_similar(const json& ours, const json& theirs, const std::string& where) {
  ASSERT_EQ(ours.type(), theirs.type()) << where;
  if (ours.is_number_float()) {
    const double a = ours, b = theirs;
    EXPECT_LE(std::abs(a - b), 1e-9 * std::max(1.0, std::abs(b))) << where;
  } else if (ours.is_structured()) {
    ASSERT_EQ(ours.size(), theirs.size()) << where;
    for (const auto& item : theirs.items()) {
      const json own =
          ours.is_object() ? ours.value(item.key(), json()) : ours[std::stoul(item.key())];
      expect_similar(own, item.value(), where + "." + item.key());
    }
  } else {
    EXPECT_EQ(ours, theirs) << where;
  }
}

TEST_P(GgufFamilyCommands, GiveTheSameRowsInBothFormats) {
  const GgufFamilyCase& of = GetParam();
  const TempFolder folder;
  write_original(of, folder);
  const std::string tokens = "5,6,7,3,11,4,9,8,10";
  std::vector<Words> commands = {{"spectrum", "--per-head"},
                                 {"circuits", "--fold-norm"},
                                 {"weights"},
                                 {"predict", "--tokens", tokens},
                                 {"attention", "--tokens", tokens}};
  const json facts = report_of({"info", of.gguf.string(), "--quiet"})["models"][0];
  const json original = report_of({"info", folder.path().string(), "--quiet"})["models"][0];
  if (facts.contains("experts") && !facts["experts"].is_null()) commands.push_back({"experts"});
  for (const Words& command : commands) {
    SCOPED_TRACE(command.front());
    const json theirs = nameless_rows(command, folder.path().string());
    const json ours = nameless_rows(command, of.gguf.string());
    // An encoder predicts masked tokens, and its LM head is not in the file.
    ASSERT_EQ(theirs.empty(), command.front() == "predict" && !facts["causal"]);
    expect_similar(ours, theirs, "rows");
  }
  for (const char* fact : {"architecture", "layers", "heads", "kv_heads", "head_dim", "hidden_size",
                           "intermediate_size", "vocab_size", "context_length", "causal", "rotary",
                           "experts", "attention_parameters", "kv_cache_bytes_per_token"}) {
    EXPECT_EQ(facts.value(fact, json()), original.value(fact, json())) << fact;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GgufFamilyCommands, testing::ValuesIn(gguf_families()),
                         [](const auto& model) { return test_name(model.param.name); });

/// Draft layers after the last layer are listed but never analyzed.
TEST(GgufFamilies, ListDraftLayersOnly) {
  const auto models = gguf_families();
  const auto found = std::find_if(models.begin(), models.end(),
                                  [](const auto& model) { return model.name == "glm4_moe"; });
  ASSERT_NE(found, models.end());
  const json info = report_of({"info", found->gguf.string(), "--quiet"});
  const auto layers = info["models"][0]["layers"].get<std::int64_t>();
  const std::string draft = "model.layers." + std::to_string(layers) + ".";
  std::size_t listed = 0;
  bool joins = false;
  for (const json& row : info["rows"]) {
    const std::string name = row["name"];
    listed += name.starts_with(draft) ? 1 : 0;
    joins = joins || name == draft + "eh_proj.weight";
  }
  EXPECT_GT(listed, 20u);
  EXPECT_TRUE(joins);
  for (const char* command : {"spectrum", "weights", "experts"}) {
    const json report = report_of({command, found->gguf.string(), "--quiet"});
    for (const json& row : report["rows"]) {
      EXPECT_LT(row["layer"].get<std::int64_t>(), layers) << command;
    }
  }
}

}  // namespace
}  // namespace attnscope::test
