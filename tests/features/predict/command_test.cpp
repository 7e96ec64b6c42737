// `predict`: next tokens, perplexity, and rejected arguments.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/features/attention/attention_model.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

TEST(CliPredict, RowsAreTheMostLikelyNextTokens) {
  const json report =
      report_of({"predict", kShakespeare, "--text", "To be, or not to be", "--top", "7"});
  const json& model = report.at("models")[0];
  const json& rows = report.at("rows");
  ASSERT_EQ(rows.size(), 7u);
  double before = 1;
  for (std::size_t at = 0; at < rows.size(); ++at) {
    EXPECT_EQ(rows[at].at("position"), model.at("tokens").size());
    EXPECT_EQ(rows[at].at("rank"), at + 1);
    EXPECT_TRUE(rows[at].at("text").is_string());
    EXPECT_LE(rows[at].at("probability").get<double>(), before);
    before = rows[at].at("probability");
  }
  std::string text;
  for (const json& token : model.at("tokens")) text += token.at("text");
  EXPECT_EQ(text, "To be, or not to be");
  EXPECT_FALSE(model.contains("generated"));
  EXPECT_EQ(model.at("hidden_states").size(), 7u);
}

TEST(CliPredict, ProbabilitiesOfAllTokensSumToOne) {
  const json rows =
      report_of({"predict", kShakespeareLlama, "--text", "Speak", "--top", "2000"}).at("rows");
  ASSERT_EQ(rows.size(), 1024u);
  double sum = 0;
  for (const json& row : rows) sum += row.at("probability").get<double>();
  EXPECT_NEAR(sum, 1, 1e-12);
}

/// A BERT with a tokenizer.
std::string masked_model(const TempFolder& folder) {
  const fs::path to = folder.path() / "bert";
  fs::create_directories(to);
  for (const char* file : {"config.json", "model.safetensors"}) {
    fs::copy_file(fs::path(tiny_model("bert")) / file, to / file);
  }
  std::string words = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (int word = 5; word < 48; ++word) words += "w" + std::to_string(word) + "\n";
  folder.write("bert/vocab.txt", words);
  return to.string();
}

TEST(CliPredict, FillsEachMask) {
  const TempFolder folder;
  const std::string model = masked_model(folder);
  const json report = report_of({"predict", model, "--text", "w7 [MASK] w9 [MASK]", "--top", "2"});
  const json& rows = report.at("rows");
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(report.at("models")[0].at("tokens").size(), 6u);
  EXPECT_EQ(rows[0].at("position"), 2);
  EXPECT_EQ(rows[1].at("position"), 2);
  EXPECT_EQ(rows[2].at("position"), 4);
  const std::string table = output_of({"predict", model, "--text", "w7 [MASK] w9"});
  EXPECT_TRUE(contains(table, "masked token 2")) << table;
}

TEST(CliPredict, NotesATextWithoutAMask) {
  const TempFolder folder;
  const std::string model = masked_model(folder);
  const RunResult run = run_attnscope({"predict", model, "--text", "w7 w9"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_TRUE(contains(run.err, "write [MASK] at")) << run.err;
  EXPECT_TRUE(contains(run.out, "hidden states")) << run.out;
  expect_refusal({"predict", model, "--text", "w7", "--generate", "3"}, 5,
                 {"bidirectional attention"});
  expect_refusal({"predict", model, "--text", "w7 w8", "--perplexity"}, 5,
                 {"bidirectional attention"});
}

TEST(CliPredict, ABidirectionalDecoderPredictsNothing) {
  TinyLlama tiny = runnable_llama();
  tiny.config["is_causal"] = false;
  const TempFolder folder;
  const std::string model = tiny.write(folder, "model");
  const RunResult run = run_attnscope({"predict", model, "--tokens", "1,2,3"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_TRUE(contains(run.err, "predicts only masked tokens")) << run.err;
  expect_refusal({"predict", model, "--tokens", "1,2", "--generate", "3"}, 5,
                 {"bidirectional attention"});
  expect_refusal({"predict", model, "--tokens", "1,2", "--perplexity"}, 5,
                 {"bidirectional attention"});

  const json facts = report_of({"info", model})["models"][0];
  EXPECT_EQ(facts["causal"], false);
  EXPECT_EQ(facts["kv_cache_bytes_per_token"], nullptr);
  EXPECT_EQ(report_of({"info", kShakespeareLlama})["models"][0]["causal"], true);
  const Words lines = lines_of(output_of({"info", model}));
  EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    return line.starts_with("causal attention") && line.ends_with("no");
  }));

  tiny.config["is_causal"] = nullptr;
  expect_refusal({"predict", tiny.write(folder, "unclear"), "--tokens", "1,2"}, 5,
                 {"'is_causal' is null"});
}

TEST(CliPredict, ShowsHiddenStatesOfAModelWithoutAHead) {
  const std::string model = tiny_model("llama-body");
  const RunResult run = run_attnscope({"predict", model, "--tokens", "1,2", "--format", "json"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_TRUE(contains(run.err, "note: ")) << run.err;
  EXPECT_TRUE(contains(run.err, "no LM head")) << run.err;
  const json report = json::parse(run.out);
  EXPECT_TRUE(report.at("rows").empty());
  EXPECT_FALSE(report.at("models")[0].at("hidden_states").empty());
  expect_refusal({"predict", model, "--tokens", "1,2", "--generate", "3"}, 5, {"no logits"});
  expect_refusal({"predict", model, "--tokens", "1,2", "--perplexity"}, 5, {"no logits"});
}

TEST(CliPredict, PerplexityIsTheMeanOverWindows) {
  const std::string text = read_file(source_path("docs/site/book.txt")).substr(0, 6000);
  const json report = report_of({"predict", kShakespeare, "--text", text, "--perplexity"});
  double sum = 0;
  std::int64_t predicted = 0, next = 0;
  for (const json& row : report.at("rows")) {
    EXPECT_EQ(row.at("first"), next);
    next += row.at("length").get<std::int64_t>();
    predicted += row.at("predicted").get<std::int64_t>();
    if (row.at("mean_nll").is_null()) continue;
    sum += row.at("mean_nll").get<double>() * row.at("predicted").get<double>();
  }
  const json& found = report.at("models")[0].at("perplexity");
  EXPECT_EQ(found.at("tokens"), next);
  EXPECT_EQ(found.at("predicted"), predicted);
  EXPECT_NEAR(found.at("mean_nll").get<double>(), sum / static_cast<double>(predicted), 1e-12);
  EXPECT_NEAR(found.at("perplexity").get<double>(), std::exp(found.at("mean_nll").get<double>()),
              1e-9);
  // With overlapping windows, each token has more context, so the loss is lower.
  const json overlapping =
      report_of({"predict", kShakespeare, "--text", text, "--perplexity", "--stride", "32"});
  EXPECT_LT(overlapping.at("models")[0].at("perplexity").at("mean_nll"), found.at("mean_nll"));
  EXPECT_EQ(overlapping.at("models")[0].at("perplexity").at("predicted"), next - 1);
  for (const std::string threads : {"1", "3"}) {
    EXPECT_EQ(
        report_of({"predict", kShakespeare, "--text", text, "--perplexity", "--threads", threads}),
        report);
  }
}

/// 16 full windows are also the blocks: the error is their spread, increased by the correlation of
/// neighbors.
TEST(CliPredict, PerplexityHasABlockStandardError) {
  constexpr int kBlocks = 16, kContext = 256;
  std::vector<int> ids;  // another order of the vocabulary in each quarter, so that blocks differ
  for (int at = 0; at < kBlocks * kContext; ++at) ids.push_back(at * (1 + at / 1024 * 2) % 1024);
  const json report =
      report_of({"predict", kShakespeare, "--tokens", ids_text(ids), "--perplexity"});
  const json& found = report.at("models")[0].at("perplexity");
  const double mean = found.at("mean_nll"), error = found.at("mean_nll_error");
  std::vector<double> apart;
  for (const json& row : report.at("rows")) {
    apart.push_back(row.at("mean_nll").get<double>() - mean);
  }
  ASSERT_EQ(apart.size(), kBlocks);
  double squares = 0, products = 0;
  for (std::size_t at = 0; at < apart.size(); ++at) {
    squares += apart[at] * apart[at];
    products += at > 0 ? apart[at] * apart[at - 1] : 0;
  }
  const double of_neighbors = products / squares;
  const double shared = std::clamp(of_neighbors + (1 + 3 * of_neighbors) / kBlocks, 0.0, 0.9);
  EXPECT_NEAR(error / std::sqrt(squares / 15 / 16 * (1 + shared) / (1 - shared)), 1, 1e-9);
  EXPECT_GT(error, 0);
  EXPECT_NEAR(found.at("perplexity_error").get<double>(), error * std::exp(mean),
              1e-9 * std::exp(mean));

  const json brief = report_of({"predict", kShakespeare, "--tokens", "1,2,3,4", "--perplexity"});
  const json& of_brief = brief.at("models")[0].at("perplexity");
  EXPECT_TRUE(of_brief.at("mean_nll_error").is_null());
  EXPECT_TRUE(of_brief.at("perplexity_error").is_null());
  EXPECT_TRUE(contains(output_of({"predict", kShakespeare, "--tokens", ids_text(ids),
                                  "--perplexity", "--format", "table"}),
                       fmt::format(" ± {:.6f} ", error)));
}

TEST(CliPredict, StripsTerminalEscapes) {
  const TempFolder folder;
  const std::string file =
      folder.write("text.txt", "a \x1b[31m red \x07 \xE2\x80\xAE end\n\r").string();
  for (const char* format : {"table", "csv"}) {
    const std::string out = output_of(
        {"predict", kShakespeare, "--text-file", file, "--generate", "3", "--format", format});
    EXPECT_FALSE(contains(out, "\x1b")) << out;
    EXPECT_FALSE(contains(out, "\x07")) << out;
    EXPECT_FALSE(contains(out, "\xE2\x80\xAE")) << out;
  }
}

TEST(CliPredict, RejectsWhatCannotBeRun) {
  const Words gpt2 = {"predict", kShakespeare};
  expect_refusal(gpt2, 2, {"--text", "missing input text"});
  expect_refusal(gpt2 + Words{"--text", ""}, 2, {"--text", "requires a value"});
  const TempFolder folder;
  const std::string empty = folder.write("empty.txt", "").string();
  expect_refusal(gpt2 + Words{"--text-file", empty}, 2, {empty, "is empty"});
  const std::string broken = folder.write("broken.txt", "To be \xff").string();
  expect_refusal(gpt2 + Words{"--text-file", broken}, 4, {broken + ": is not UTF-8 at byte 6"});
  expect_refusal(gpt2 + Words{"--text", "To \xff"}, 4, {"--text: is not UTF-8 at byte 3"});
  expect_refusal(gpt2 + Words{"--tokens", "1,x"}, 2, {"'x' is not a token id"});
  expect_refusal(gpt2 + Words{"--tokens", "1,2", "--token-types", "0,x"}, 2,
                 {"'x' is not a token type", "0,0,1,1"});
  expect_refusal(gpt2 + Words{"--tokens", "1,1024"}, 2, {"token id 1024", "0 to 1023"});
  std::string many = "1";
  for (int at = 0; at < 256; ++at) many += ",1";
  expect_refusal(gpt2 + Words{"--tokens", many}, 2, {"257 tokens", "256"});
  expect_refusal(gpt2 + Words{"--text", "To be", "--perplexity", "--stride", "300"}, 2,
                 {"--stride"});
  expect_refusal(gpt2 + Words{"--tokens", "1", "--perplexity"}, 2, {"no token to predict"});
  expect_refusal(gpt2 + Words{"--text", "a b", "--perplexity", "--generate", "3"}, 2,
                 {"--generate"});
  expect_refusal(gpt2 + Words{kShakespeareLlama, "--text", "a", "--save", "x.safetensors"}, 2,
                 {"--save"});
  expect_refusal({"predict", tiny_model("llama"), "--text", "a"}, 2,
                 {"tokenizer.json", "--tokens"});
  const std::string out = (folder.path() / "same").string();
  expect_refusal(gpt2 + Words{"--text", "a", "--save", out, "--out", out}, 2,
                 {"--out", "the file passed to --save"});
  EXPECT_EQ(files_in(folder.path()), (Words{"broken.txt", "empty.txt"}));
}

TEST(CliPredict, UsesTheSingularForOne) {
  const Words predict = {"predict", kShakespeare, "--tokens"};
  const std::string one = output_of(predict + Words{"7", "--generate", "1"});
  EXPECT_TRUE(contains(one, "(1 token)")) << one;
  EXPECT_FALSE(contains(one, "1 tokens")) << one;
  EXPECT_EQ(output_of(predict + Words{"46, 32 ,\t90"}), output_of(predict + Words{"46,32,90"}));
}

TEST(CliPredict, NamesTheLayerThatGivesNan) {
  TinyLlama tiny = runnable_llama();
  const TempFolder folder;
  set_element(tiny.attention(1, 'v'), 0, 0, std::numeric_limits<float>::quiet_NaN());
  const std::string model = tiny.write(folder, "model");
  const std::string file = (folder.path() / "run.safetensors").string();
  expect_refusal({"predict", model, "--tokens", "1,2", "--save", file}, 6,
                 {"layer 1", "NaN or infinity"});
  EXPECT_FALSE(fs::exists(file));
}

TEST(CliPredict, NamesAMissingTensor) {
  TinyLlama tiny = runnable_llama();
  const TempFolder folder;
  std::erase_if(tiny.tensors, [](const TensorToWrite& tensor) {
    return tensor.name == "model.layers.1.mlp.up_proj.weight";
  });
  expect_refusal({"predict", tiny.write(folder, "model"), "--tokens", "1,2"}, 4,
                 {"model.layers.1.mlp.up_proj.weight"});
}

}  // namespace
}  // namespace attnscope::test
