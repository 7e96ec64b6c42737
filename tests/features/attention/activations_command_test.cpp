// Activations and head outputs in the rows of `attention`, compared with transformers in float64
// (tools/golden_activations.py).
#include <cmath>

#include "tests/features/attention/attention_model.h"

namespace attnscope::test {
namespace {

/// The expected value of a field in the row of a head or layer.
const json& wanted_of(const json& layer, const std::string& name, const json& head) {
  const json& wanted = layer.at(name);
  return head.is_null() ? wanted : wanted.at(head.get<std::size_t>());
}

class StreamActivationsGolden : public testing::TestWithParam<const char*> {};

// The float32 residual stream differs from float64 by at most 2e-5 of the largest value. The
// smallest value here, a median, is at least a tenth of the largest.
TEST_P(StreamActivationsGolden, RowsEqualThoseOfTransformers) {
  constexpr double kTolerance = 2e-4;
  const json all = json::parse(read_file(source_path("tests/golden/activations/small.json")));
  const json& golden = all.at(GetParam());
  std::vector<std::uint16_t> tokens;
  for (const json& sequence : golden["tokens"]) {
    for (const json& token : sequence) tokens.push_back(token);
  }
  const TempFolder folder;
  const json rows = report_of({"attention", source_path(GetParam()), "--token-file",
                               folder.write("tokens.bin", shard_bytes(tokens)).string(),
                               "--sequences", std::to_string(golden["tokens"].size()), "--length",
                               std::to_string(golden["tokens"][0].size())})["rows"];
  std::size_t compared = 0;
  for (const json& row : rows) {
    const json& layer = golden["layers"].at(row["layer"].get<std::size_t>());
    for (const auto& [name, _] : layer.items()) {
      const bool of_head = name.starts_with("output_ratio");
      if (of_head == row["head"].is_null()) continue;
      SCOPED_TRACE(name + " of layer " + row["layer"].dump() + ", head " + row["head"].dump());
      const json &got = row.at(name), &wanted = wanted_of(layer, name, row["head"]);
      ++compared;
      if (wanted.is_number_float()) {
        EXPECT_NEAR(got.get<double>(), wanted.get<double>(),
                    kTolerance * std::abs(wanted.get<double>()));
      } else {
        EXPECT_EQ(got, wanted);
      }
    }
  }
  EXPECT_EQ(compared,
            golden["layers"].size() * (6 + 2 * golden["layers"][0]["output_ratio"].size()));
}

INSTANTIATE_TEST_SUITE_P(Cases, StreamActivationsGolden,
                         testing::Values("examples/shakespeare-gpt2", "examples/shakespeare-llama",
                                         "tests/data/forward/gemma2", "tests/data/forward/granite",
                                         "tests/data/forward/bert"),
                         [](const auto& golden) {
                           std::string name = golden.param;
                           name = name.substr(name.rfind('/') + 1);
                           std::erase(name, '-');
                           return name;
                         });

const Words kFewTokens = {"--tokens", "3,1,4,1,5,9,2,6"};

/// The result does not depend on which other layers are measured.
TEST(StreamActivations, OneLayerGivesTheSameAsAllLayers) {
  const Words command = Words{"attention", tiny_model("gpt2")} + kFewTokens;
  const json all = report_of(command)["rows"];
  const json one = report_of(command + Words{"--layers", "0"})["rows"];
  ASSERT_EQ(3 * one.size(), all.size());
  for (std::size_t at = 0; at < one.size(); ++at) {
    for (const char* name : {"output_ratio", "max_activation", "activation_ratio",
                             "activation_position", "outlier_count"}) {
      EXPECT_EQ(one[at].value(name, json()), all[at].value(name, json())) << name;
    }
  }
}

TEST(StreamActivations, CrossAttentionHasHeadOutputsOnly) {
  const json rows = report_of(Words{"attention", data_path("encoder_decoders/t5") + ":cross"} +
                              kFewTokens + Words{"--target-tokens", "2,7,1,8"})["rows"];
  ASSERT_FALSE(rows.empty());
  for (const json& row : rows) {
    if (row["head"].is_null()) {
      EXPECT_TRUE(row["max_activation"].is_null());
      EXPECT_TRUE(row["outlier_dimensions"].is_null());
    } else {
      EXPECT_GT(row["output_ratio"].get<double>(), 0);
    }
  }
}

}  // namespace
}  // namespace attnscope::test
