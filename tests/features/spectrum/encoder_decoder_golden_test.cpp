// `spectrum` of every stack, matrix and head of encoder-decoders, vision encoders and audio
// encoders, compared with the weights of transformers' modules
// (tools/golden_encoder_decoders_towers.py).
#include <filesystem>
#include <map>

#include "tests/support/program.h"

namespace attnscope::test {
namespace {

/// float64 values are printed with ten digits.
constexpr double kStackTolerance = 1e-9;

std::vector<std::string> golden_stacks() {
  std::vector<std::string> names;
  std::error_code absent;
  const std::filesystem::path folder = source_path("tests/data/stacks");
  for (const auto& entry : std::filesystem::directory_iterator(folder, absent)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string stack_of(const json& row) {
  return row.contains("stack") ? row["stack"].get<std::string>() : "";
}

std::string key_of_stack_row(const json& row) {
  return stack_of(row) + " " + row["layer"].dump() + " " + row["matrix"].get<std::string>() +
         " head " + row["head"].dump();
}

class StacksGolden : public testing::TestWithParam<std::string> {
 protected:
  std::string folder() const { return data_path("stacks/" + GetParam()); }
  json golden() const { return json::parse(read_file(folder() + "/golden.json")); }
};

TEST_P(StacksGolden, SpectraEqualThoseOfTheModules) {
  const json expected = golden();
  std::map<std::string, std::vector<double>> wanted;
  bool gated = false;
  for (const json& row : expected["rows"]) {
    wanted[key_of_stack_row(row)] = row["values"].get<std::vector<double>>();
    gated = gated || row["matrix"] == "gate";
  }
  const std::string matrices = gated ? "q,k,v,o,qk,ov,gate,up,down" : "q,k,v,o,qk,ov,up,down";
  const json report =
      report_of({"spectrum", folder(), "--per-head", "--values", "--quiet", "--matrix", matrices});
  std::size_t found = 0;
  for (const json& row : report["rows"]) {
    const auto other = wanted.find(key_of_stack_row(row));
    if (other == wanted.end()) {
      const auto matrix = row["matrix"].get<std::string>();
      EXPECT_TRUE(row["head"].is_null() && (matrix == "qk" || matrix == "ov")) << row;
      continue;
    }
    SCOPED_TRACE(other->first);
    ++found;
    const auto got = row["singular_values"].get<std::vector<double>>();
    ASSERT_EQ(got.size(), other->second.size());
    for (std::size_t at = 0; at < got.size(); ++at) {
      ASSERT_NEAR(got[at], other->second[at], kStackTolerance * other->second[0]);
    }
  }
  EXPECT_EQ(found, wanted.size());
}

TEST_P(StacksGolden, EveryTensorBelongsToOneStackAndHasARole) {
  // Without the note that layers in stages differ in size.
  const json report = report_of({"info", folder(), "--quiet"});
  std::int64_t parameters = 0;
  for (const json& model : report["models"]) parameters += model["parameters"].get<std::int64_t>();
  std::map<std::string, int> seen;
  for (const json& row : report["rows"]) {
    const auto name = row["name"].get<std::string>();
    EXPECT_EQ(++seen[name], 1) << name;
    const bool classifies = name.find("classifier") != std::string::npos ||
                            name == "lm_head.bias" || name == "lm_head.weight";
    EXPECT_TRUE(classifies || row["role"] != "other") << name;
  }
  EXPECT_EQ(parameters, golden()["parameters"].get<std::int64_t>());
}

INSTANTIATE_TEST_SUITE_P(Cases, StacksGolden, testing::ValuesIn(golden_stacks()),
                         [](const testing::TestParamInfo<std::string>& name) {
                           std::string text = name.param;
                           std::replace(text.begin(), text.end(), '-', '_');
                           return text;
                         });

}  // namespace
}  // namespace attnscope::test
