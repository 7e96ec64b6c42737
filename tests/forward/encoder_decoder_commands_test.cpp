// Encoder-decoders on a source text and a target text: measures of each stack's maps, saved
// tensors, and the loss of the target. Expected values: tools/golden_seq2seq.py.
#include <cmath>

#include "attnscope/checkpoint/checkpoint.h"
#include "tests/forward/golden_comparison.h"
#include "tests/support/golden_variants.h"
#include "tests/support/program.h"

namespace attnscope::test {
namespace {

const Words kSeq2SeqModels = {"bart", "m2m_100", "marian", "mbart", "mt5", "pegasus", "t5", "umt5"};

std::string ids_text(const json& ids) {
  std::string text;
  for (const json& id : ids) text += (text.empty() ? "" : ",") + id.dump();
  return text;
}

struct MeasuredPair {
  std::string model;
  json golden;
  Words texts;  // arguments

  explicit MeasuredPair(const std::string& name)
      : model(data_path("encoder_decoders/" + name)),
        golden(json::parse(read_file(model + "/measures.json"))),
        texts({"--tokens", ids_text(golden["source"]), "--target-tokens",
               ids_text(golden["target"])}) {}
};

TEST(CliEncoderDecoder, MeasuresOfCrossAttentionEqualNumPy) {
  for (const std::string& name : kSeq2SeqModels) {
    SCOPED_TRACE(name);
    const MeasuredPair pair(name);
    const json report = report_of(Words{"attention", pair.model, "--quiet"} + pair.texts);
    std::map<std::string, json> rows;  // by head of cross-attention
    std::map<std::string, int> of_stack;
    for (const json& row : report["rows"]) {
      if (row["head"].is_null()) continue;
      const auto stack = row["stack"].get<std::string>();
      ++of_stack[stack];
      EXPECT_EQ(row.contains("diagonality"), stack == "cross") << row;
      EXPECT_EQ(row["mean_distance"].is_null(), stack == "cross") << row;
      if (stack == "cross") rows[row["layer"].dump() + " " + row["head"].dump()] = row;
    }
    EXPECT_EQ(of_stack.size(), 3U);
    ASSERT_EQ(rows.size(), pair.golden["rows"].size());
    for (const json& wanted : pair.golden["rows"]) {
      const json& row = rows.at(wanted["layer"].dump() + " " + wanted["head"].dump());
      for (const auto& [field, value] : wanted.items()) {
        // float32 maps are within 5e-5 of the golden maps.
        EXPECT_NEAR(row[field].get<double>(), value.get<double>(), 5e-4) << field << row;
      }
    }
  }
}

TEST(CliEncoderDecoder, ScoresTargetsLikeTransformers) {
  for (const std::string& name : kSeq2SeqModels) {
    SCOPED_TRACE(name);
    const MeasuredPair pair(name);
    const json report =
        report_of(Words{"predict", pair.model, "--perplexity", "--quiet"} + pair.texts);
    const double mean = pair.golden["mean_nll"];
    ASSERT_EQ(report["rows"].size(), 1U);
    EXPECT_NEAR(report["rows"][0]["mean_nll"].get<double>(), mean, 1e-4);
    EXPECT_EQ(report["rows"][0]["predicted"], pair.golden["target"].size() - 1);
    const json& whole = report["models"][0]["perplexity"];
    EXPECT_NEAR(whole["perplexity"].get<double>(), std::exp(mean), 1e-3);
  }
}

TEST(CliEncoderDecoder, SavedTensorsEqualTransformers) {
  for (const std::string name : {"t5", "bart"}) {
    const MeasuredPair pair(name);
    const TempFolder folder;
    const std::string file = (folder.path() / "run.safetensors").string();
    const RunResult run =
        run_attnscope(Words{"predict", pair.model, "--save", file, "--quiet"} + pair.texts);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const Checkpoint saved = Checkpoint::open(file);
    const Checkpoint expected = Checkpoint::open(pair.model + "/expected.safetensors");
    EXPECT_EQ(saved.tensors().size(), 8U);
    for (const char* tensor : {"logits", "hidden_states", "attentions", "cross_attentions",
                               "encoder_hidden_states", "encoder_attentions"}) {
      const CheckpointTensor* got = saved.find(tensor);
      const CheckpointTensor* wanted = expected.find(std::string(tensor) + ".0");
      ASSERT_TRUE(got != nullptr && wanted != nullptr) << tensor;
      ASSERT_EQ(got->view.shape, wanted->view.shape) << tensor;
      EXPECT_LE(error_of(test::values_of(*got), test::values_of(*wanted), 1), kMapsTolerance)
          << tensor;
    }
  }
}

TEST(CliEncoderDecoder, SavesMapsOfOneStack) {
  const MeasuredPair pair("bart");
  const auto expected = Checkpoint::open(pair.model + "/expected.safetensors");
  for (const auto& [stack, tensor] :
       std::map<std::string, std::string>{{"encoder", "encoder_attentions.0"},
                                          {"decoder", "attentions.0"},
                                          {"cross", "cross_attentions.0"}}) {
    for (const char* which : {"first", "mean"}) {
      const TempFolder folder;
      const std::string file = (folder.path() / "maps.safetensors").string();
      const RunResult run = run_attnscope(Words{"attention", pair.model, "--stack", stack, "--maps",
                                                file, "--maps-of", which, "--quiet"} +
                                          pair.texts);
      ASSERT_EQ(run.exit_code, 0) << stack << run.err;
      const Checkpoint saved = Checkpoint::open(file);
      const CheckpointTensor* wanted = expected.find(tensor);
      ASSERT_EQ(saved.find("attentions")->view.shape, wanted->view.shape) << stack;
      EXPECT_LE(error_of(test::values_of(*saved.find("attentions")), test::values_of(*wanted), 1),
                kMapsTolerance);
    }
  }
}

TEST(CliEncoderDecoder, DrawsACrossAttentionMapWithBothTexts) {
  const json report =
      report_of({"attention", data_path("encoder_decoders/bart"), "--heatmap", "1,0", "--stack",
                 "cross", "--tokens", "5,6,7,8,9", "--target-tokens", "2,3,4"});
  ASSERT_EQ(report["rows"].size(), 3U);
  EXPECT_EQ(report["rows"][0]["weights"].size(), 5U);
  EXPECT_EQ(report["models"][0]["source_tokens"].size(), 5U);
  const RunResult run =
      run_attnscope({"attention", data_path("encoder_decoders/bart"), "--heatmap", "1,0", "--stack",
                     "cross", "--tokens", "5,6,7,8,9", "--target-tokens", "2,3,4"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.out, "2 4  ")) << run.out;  // the last row: token 4, at 2
}

TEST(CliEncoderDecoder, MeasuresOnlyTheEncoderWithoutATarget) {
  const std::string model = data_path("encoder_decoders/t5");
  const RunResult run =
      run_attnscope({"attention", model, "--tokens", "5,6,7", "--format", "json"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_TRUE(contains(run.err, "decoders require --target, --target-tokens or --target-file"))
      << run.err;
  EXPECT_EQ(json::parse(run.out)["models"].size(), 1U);
}

TEST(CliEncoderDecoder, RejectsInvalidCombinations) {
  const std::string model = data_path("encoder_decoders/bart"), gpt2 = data_path("forward/gpt2");
  const Words source = {"--tokens", "5,6"};
  expect_refusal(Words{"attention", model, "--stack", "cross"} + source, kUsage,
                 {"--target", "cross belongs to a decoder"});
  expect_refusal({"attention", model, "--induction"}, kUnsupported, {"a source and a target"});
  expect_refusal(Words{"predict", gpt2, "--target-tokens", "3"} + source, kUsage,
                 {"requires an encoder-decoder model"});
  expect_refusal(Words{"attention", gpt2, "--target-tokens", "3"} + source, kUsage, {"--target"});
  expect_refusal(Words{"predict", model, "--stack", "cross"} + source, kUsage, {"its decoder"});
  expect_refusal(
      Words{"predict", model, "--target-tokens", "2,3,4,5,6,7,8,9,10,11,12,13,14"} + source, kUsage,
      {"13 tokens is longer than the 12"});
  expect_refusal(Words{"predict", model, "--target-tokens", "2,99"} + source, kUsage,
                 {"token id 99", "decoder"});
  expect_refusal({"predict", model, "--tokens", "99"}, kUsage, {"token id 99", "encoder"});
  expect_refusal(Words{"predict", model, "--perplexity"} + source, kUsage, {"--target"});
  expect_refusal(Words{"predict", model, "--perplexity", "--target-tokens", "2"} + source, kUsage,
                 {"a target of 1 token"});
  expect_refusal({"circuits", model, "--stack", "cross", "--fold-norm"}, kUsage, {"--fold-norm"});
}

TEST(CliEncoderDecoder, CircuitsOfCrossAttentionNoteTheTwoSpaces) {
  const RunResult run = run_attnscope(
      {"circuits", data_path("encoder_decoders/t5"), "--stack", "cross", "--format", "json"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_TRUE(contains(run.err, "t5:cross: cross-attention: queries come from the decoder"))
      << run.err;
}

}  // namespace
}  // namespace attnscope::test
