// `lens --tuned-lens`: folders that are refused. Golden test: tests/interventions.
#include <bit>
#include <limits>

#include "tests/support/program.h"

namespace attnscope::test {
namespace {

std::string lens_config(int width, int layers) {
  return json{{"d_model", width}, {"num_hidden_layers", layers}}.dump();
}

TEST(CliTunedLens, RefusesOtherFiles) {
  const std::string params = read_file(data_path("tuned_lens/llama/params.pt"));
  const struct {
    std::string config, params, problem;
  } cases[] = {
      {"[1]", params, "config.json is not a JSON object"},
      {"{", params, "not JSON"},
      {"{}", params, "has no valid 'd_model'"},
      {R"({"d_model": 24, "num_hidden_layers": -1})", params, "no valid 'num_hidden_layers'"},
      {R"({"d_model": 24, "num_hidden_layers": 2, "lens_type": "other"})", params, "lens_type"},
      {lens_config(24, 3), params, "has no tensor '2.weight'"},
      {lens_config(12, 2), params, "does not have the width 12"},
      {lens_config(24, 2), params.substr(0, 3000), "params.pt: "},
      {lens_config(24, 2), "", "params.pt: "},
  };
  for (const auto& [config, weights, problem] : cases) {
    const TempFolder folder;
    folder.write("config.json", config);
    folder.write("params.pt", weights);
    const RunResult run = run_attnscope({"lens", data_path("forward/llama"), "--tokens", "1,2,3",
                                         "--tuned-lens", folder.path().string()});
    EXPECT_NE(run.exit_code, 0);
    EXPECT_TRUE(contains(run.err, problem)) << run.err;
    EXPECT_EQ(lines_of(run.err).size(), 1U) << run.err;
  }
}

TEST(CliTunedLens, NamesATranslatorThatIsNotFinite) {
  std::string params = read_file(data_path("tuned_lens/llama/params.pt"));
  const std::size_t entry = params.find("data/0");  // the values of 0.weight, aligned to 64 bytes
  ASSERT_NE(entry, std::string::npos);
  const std::size_t values = (entry / 64 + 2) * 64;
  for (std::size_t at = values; at < values + 4 * 24; at += 4) {
    const auto bits = std::bit_cast<std::array<char, 4>>(std::numeric_limits<float>::quiet_NaN());
    std::copy(bits.begin(), bits.end(), params.begin() + static_cast<std::ptrdiff_t>(at));
  }
  const TempFolder folder;
  folder.write("config.json", lens_config(24, 2));
  folder.write("params.pt", params);
  const RunResult run = run_attnscope({"lens", data_path("forward/llama"), "--tokens", "1,2,3",
                                       "--tuned-lens", folder.path().string()});
  EXPECT_NE(run.exit_code, 0);
  EXPECT_TRUE(contains(run.err, "params.pt")) << run.err;
  EXPECT_TRUE(contains(run.err, "0.weight")) << run.err;
}

}  // namespace
}  // namespace attnscope::test
