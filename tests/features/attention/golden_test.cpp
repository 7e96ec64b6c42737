// `attention` compared with float64 NumPy on the maps of transformers (tools/golden_attention.py).
#include <cmath>

#include "tests/features/attention/attention_model.h"

namespace attnscope::test {
namespace {

/// Float32 maps of two programs agree to about 1e-7, and measures are sums of up to T of them.
constexpr double kTolerance = 5e-6;

class AttentionGolden : public testing::TestWithParam<std::string> {};

TEST_P(AttentionGolden, RowsEqualThoseOfNumPy) {
  const json golden =
      json::parse(read_file(source_path("tests/golden/attention/" + GetParam() + ".json")));
  std::vector<std::uint16_t> tokens;
  for (const json& sequence : golden["tokens"]) {
    for (const json& token : sequence) tokens.push_back(token);
  }
  const TempFolder folder;
  const Words command = {"attention",    tiny_model(golden["model"]),
                         "--token-file", folder.write("tokens.bin", shard_bytes(tokens)).string(),
                         "--sequences",  std::to_string(golden["tokens"].size()),
                         "--length",     std::to_string(golden["tokens"][0].size()),
                         "--quiet"};  // some texts exceed the context length
  for (const json& run : golden["runs"]) {
    Words options = {"--energy", run["energy"].dump()};
    if (run["exclude_first_token"].get<bool>()) options.push_back("--exclude-first-token");
    const json rows = report_of(command + options)["rows"];
    ASSERT_EQ(rows.size(), run["rows"].size());
    for (std::size_t at = 0; at < rows.size(); ++at) {
      for (const auto& [name, wanted] : run["rows"][at].items()) {
        SCOPED_TRACE(name + " of layer " + rows[at]["layer"].dump() + ", head " +
                     rows[at]["head"].dump());
        const json& got = rows[at].at(name);
        if (!wanted.is_number_float()) {
          EXPECT_EQ(got, wanted);
          continue;
        }
        EXPECT_NEAR(got.get<double>(), wanted.get<double>(),
                    kTolerance * std::max(1.0, std::abs(wanted.get<double>())));
      }
    }
  }
}

/// Uniform baselines for each mask, including layers with windows and encoders.
TEST_P(AttentionGolden, UniformBaselineOfRepeatedTokensEqualsNumPy) {
  const json golden =
      json::parse(read_file(source_path("tests/golden/attention/" + GetParam() + ".json")));
  const json rows = report_of({"attention", tiny_model(golden["model"]), "--induction", "--length",
                               std::to_string(golden["tokens"][0].size()), "--quiet"})["rows"];
  ASSERT_FALSE(rows.empty());
  for (const json& row : rows) {
    for (const auto& [name, wanted] :
         golden["induction"][row["layer"].get<std::size_t>()].items()) {
      SCOPED_TRACE(name + " of layer " + row["layer"].dump());
      EXPECT_NEAR(row.at(name).get<double>(), wanted.get<double>(), 1e-8);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, AttentionGolden,
                         testing::Values("gpt2", "llama", "gemma3", "bert", "gpt_oss"),
                         [](const auto& golden) { return golden.param; });

}  // namespace
}  // namespace attnscope::test
