// `spectrum` of every head and expert of several model families, compared with
// tests/golden/families: outputs of transformers' modules for unit vectors
// (tools/golden_families.py).
#include <filesystem>
#include <map>

#include "tests/support/program.h"

namespace attnscope::test {
namespace {

/// float64 values are printed with ten digits.
constexpr double kFamilyTolerance = 1e-9;

std::vector<std::string> golden_families() {
  std::vector<std::string> names;
  std::error_code absent;
  const std::filesystem::path folder = source_path("tests/golden/families");
  for (const auto& entry : std::filesystem::directory_iterator(folder, absent)) {
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Layer, matrix, head and expert.
std::string key_of(const json& row) {
  const auto text_of = [&](const char* name) {
    return row.contains(name) ? row[name].dump() : std::string("null");
  };
  return row["layer"].dump() + " " + row["matrix"].get<std::string>() + " head " + text_of("head") +
         " expert " + text_of("expert");
}

class FamiliesGolden : public testing::TestWithParam<std::string> {};

TEST_P(FamiliesGolden, HeadsAndExpertsEqualThoseOfTheModules) {
  const json golden =
      json::parse(read_file(source_path("tests/golden/families/" + GetParam() + ".json")));
  std::map<std::string, std::vector<double>> wanted;
  Words asked = {"--matrix", "q,k,v,o,qk,ov"};
  for (const json& row : golden) {
    wanted[key_of(row)] = row["values"].get<std::vector<double>>();
    if (row.contains("expert")) {
      asked = {"--matrix", "q,k,v,o,qk,ov,gate,up,down", "--experts", "all"};
    }
  }
  const json report = report_of(
      Words{"spectrum", data_path("forward/" + GetParam()), "--per-head", "--values", "--quiet"} +
      asked);
  std::size_t found = 0;
  for (const json& row : report["rows"]) {
    const auto other = wanted.find(key_of(row));
    if (other == wanted.end()) continue;  // a circuit's sum, or the summary of a layer's experts
    SCOPED_TRACE(other->first);
    ++found;
    const auto got = row["singular_values"].get<std::vector<double>>();
    ASSERT_EQ(got.size(), other->second.size());
    for (std::size_t at = 0; at < got.size(); ++at) {
      ASSERT_NEAR(got[at], other->second[at], kFamilyTolerance * other->second[0]);
    }
  }
  EXPECT_EQ(found, wanted.size());
}

INSTANTIATE_TEST_SUITE_P(Cases, FamiliesGolden, testing::ValuesIn(golden_families()),
                         [](const testing::TestParamInfo<std::string>& name) {
                           return name.param;
                         });

}  // namespace
}  // namespace attnscope::test
