// `predict --save` saves the tensors that transformers returns.
#include <cmath>
#include <cstring>

#include "tests/features/attention/attention_model.h"
#include "tests/support/stored_tensor.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

/// The token ids of sequence 0 of a golden file, formatted for the command line.
std::string golden_tokens(const fs::path& expected) {
  const std::string file = read_file(expected);
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  const json offsets =
      json::parse(file.substr(sizeof length, length)).at("tokens.0").at("data_offsets");
  std::string ids;
  for (std::size_t at = offsets[0]; at < offsets[1].get<std::size_t>(); at += 4) {
    std::int32_t id = 0;
    std::memcpy(&id, file.data() + sizeof length + length + at, sizeof id);
    ids += (ids.empty() ? "" : ",") + std::to_string(id);
  }
  return ids;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& wanted,
                 double share_of_largest, const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  double largest = 0, difference = 0;
  for (std::size_t at = 0; at < got.size(); ++at) {
    largest = std::max(largest, std::abs(wanted[at]));
    difference = std::max(difference, std::abs(got[at] - wanted[at]));
  }
  EXPECT_LE(difference, share_of_largest * largest) << what;
}

/// Folders whose weights and config.json form one model.
class SavedRuns : public testing::TestWithParam<const char*> {};

TEST_P(SavedRuns, EqualTransformers) {
  const fs::path folder = tiny_model(GetParam()), expected = folder / "expected.safetensors";
  const TempFolder out;
  const std::string file = (out.path() / "run.safetensors").string();
  const json report =
      json::parse(run_attnscope({"predict", folder.string(), "--tokens", golden_tokens(expected),
                                 "--save", file, "--format", "json"})
                      .out);
  for (const auto& [name, share] : {std::pair("logits", 2e-5), std::pair("attentions", 5e-5),
                                    std::pair("hidden_states", 2e-5)}) {
    const auto wanted = stored_tensor(expected, name + std::string(".0"));
    const auto got = stored_tensor(file, name);
    EXPECT_EQ(got.shape, wanted.shape) << name;
    expect_near(got.values, wanted.values, share, name);
  }
  const auto states = stored_tensor(file, "hidden_states");
  const json& told = report.at("models")[0].at("hidden_states");
  ASSERT_EQ(std::ssize(told), states.shape[0]);
  const auto tokens = static_cast<std::size_t>(states.shape[1]);
  const auto width = static_cast<std::size_t>(states.shape[2]);
  for (std::size_t index = 0; index < told.size(); ++index) {
    double sum = 0;
    for (std::size_t token = 0; token < tokens; ++token) {
      double squares = 0;
      for (std::size_t col = 0; col < width; ++col) {
        const double value = states.values[(index * tokens + token) * width + col];
        squares += value * value;
      }
      sum += std::sqrt(squares);
    }
    EXPECT_EQ(told[index].at("shape"), json({tokens, width}));
    EXPECT_NEAR(told[index].at("mean_norm").get<double>(), sum / static_cast<double>(tokens),
                1e-12 * sum);
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, SavedRuns,
                         testing::Values("llama", "gpt2", "bert", "albert", "gemma2", "opt",
                                         "qwen3_next", "lfm2", "kimi_linear", "recurrent_gemma",
                                         "gemma3n"));

}  // namespace
}  // namespace attnscope::test
