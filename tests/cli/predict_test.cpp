// `predict` as a user runs it: what comes next, what is written, saved and foretold, and what is
// refused.
#include "tests/cli/command_line.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

const std::string kGpt2 = source_path("examples/shakespeare-gpt2");
const std::string kPredictLlama = source_path("examples/shakespeare-llama");

std::string forward_path(const std::string& name) { return data_path("forward/" + name); }

/// A model beside the repository; empty where it is not there.
std::string shared_path(const std::string& name) {
  const fs::path path = fs::path(ATTNSCOPE_SOURCE_DIR) / "../shared/models" / name;
  return fs::exists(path) ? path.string() : "";
}

/// The ids of sequence 0 of a golden file, as they are typed.
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

/// A tiny Llama with the norms that a forward pass reads.
TinyLlama runnable_llama() {
  TinyLlama tiny;
  for (const char* layer : {"0", "1"}) {
    for (const char* norm : {"input_layernorm", "post_attention_layernorm"}) {
      tiny.tensors.push_back(random_tensor(
          std::string("model.layers.") + layer + "." + norm + ".weight", {TinyLlama::kWidth}, 7));
    }
  }
  return tiny;
}

/// Folders whose weights and config.json are one model.
class SavedRuns : public testing::TestWithParam<const char*> {};

TEST_P(SavedRuns, HoldWhatTransformersGives) {
  const fs::path folder = forward_path(GetParam()), expected = folder / "expected.safetensors";
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
                         testing::Values("llama", "gpt2", "bert", "albert", "gemma2", "opt"));

TEST(CliPredict, RowsAreTheLikeliestTokensAfterTheText) {
  const json report = report_of({"predict", kGpt2, "--text", "To be, or not to be", "--top", "7"});
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

TEST(CliPredict, ProbabilitiesOfAllTokensAddUpToOne) {
  const json rows =
      report_of({"predict", kPredictLlama, "--text", "Speak", "--top", "2000"}).at("rows");
  ASSERT_EQ(rows.size(), 1024u);
  double sum = 0;
  for (const json& row : rows) sum += row.at("probability").get<double>();
  EXPECT_NEAR(sum, 1, 1e-12);
}

TEST(CliPredict, WritesTheLikeliestTokenAgainAndAgain) {
  const json written = report_of({"predict", kPredictLlama, "--text", "KING", "--generate", "5"});
  const json& generated = written.at("models")[0].at("generated");
  EXPECT_EQ(generated.at("tokens").size(), 5u);
  EXPECT_EQ(generated.at("ended_by"), "count");
  std::string ids;
  for (const json& token : written.at("models")[0].at("tokens")) {
    ids += std::to_string(token.at("id").get<int>()) + ",";
  }
  for (const json& token : generated.at("tokens")) {
    const std::string prompt = ids.substr(0, ids.size() - 1);
    const json next = report_of({"predict", kPredictLlama, "--tokens", prompt, "--top", "1"});
    EXPECT_EQ(next.at("rows")[0].at("token_id"), token.at("id"));
    ids += std::to_string(token.at("id").get<int>()) + ",";
  }
}

TEST(CliPredict, TellsAStory) {
  const std::string model = shared_path("stories260K");
  if (model.empty()) GTEST_SKIP() << "no shared models here";
  const json report =
      report_of({"predict", model, "--text", "Once upon a time", "--generate", "40"});
  std::vector<int> ids;
  for (const json& token : report.at("models")[0].at("generated").at("tokens")) {
    ids.push_back(token.at("id"));
  }
  // transformers' generate(do_sample=False).
  EXPECT_EQ(ids,
            (std::vector<int>{432, 383, 286, 261, 376, 298, 315, 421, 395, 317, 426, 338, 401, 396,
                              267, 337, 410, 408, 419, 292, 411, 322, 265, 282, 295, 433, 426, 385,
                              328, 432, 358, 394, 261, 370, 432, 352, 266, 268, 388, 426}));
}

TEST(CliPredict, WritesAsTransformersDoes) {
  const struct {
    const std::string& model;
    std::vector<int> ids;  // of generate(do_sample=False) after "First Citizen:", in float32
  } models[] = {
      {kPredictLlama, {199, 41,  359, 816, 259, 262, 316,  68,  311, 12, 526, 12,  299, 290,
                       430, 322, 830, 199, 67,  302, 80,   281, 306, 68, 288, 267, 262, 983,
                       14,  199, 199, 48,  572, 48,  1004, 26,  199, 41, 477, 259}},
      {kGpt2, {199, 51,  315, 12,  292, 359, 259, 262, 509, 316, 68,  311, 288, 267,
               303, 82,  575, 199, 397, 267, 303, 82,  575, 297, 267, 262, 360, 298,
               12,  299, 267, 303, 478, 83,  199, 397, 267, 303, 478, 83}}};
  for (const auto& [model, ids] : models) {
    SCOPED_TRACE(model);
    const json report =
        report_of({"predict", model, "--text", "First Citizen:", "--generate", "40"});
    std::vector<int> written;
    for (const json& token : report.at("models")[0].at("generated").at("tokens")) {
      written.push_back(token.at("id"));
    }
    EXPECT_EQ(written, ids);
  }
}

TEST(CliPredict, StopsAtTheEndTokenOfTheConfig) {
  TinyLlama tiny = runnable_llama();
  const TempFolder folder;
  const json first =
      report_of({"predict", tiny.write(folder, "model"), "--tokens", "1,2,3", "--generate", "8"});
  const json& tokens = first.at("models")[0].at("generated").at("tokens");
  ASSERT_EQ(tokens.size(), 8u);
  const int end = tokens[1].at("id");
  const auto expect_end = [&](const std::string& model) {
    const json generated = report_of({"predict", model, "--tokens", "1,2,3", "--generate", "8"})
                               .at("models")[0]
                               .at("generated");
    EXPECT_EQ(generated.at("ended_by"), "end token");
    EXPECT_EQ(generated.at("tokens").back().at("id"), end);
    EXPECT_LE(generated.at("tokens").size(), 2u);
  };
  tiny.config["eos_token_id"] = end;
  expect_end(tiny.write(folder, "of-config"));
  tiny.config["eos_token_id"] = 1000;
  const std::string model = tiny.write(folder, "of-generation");
  folder.write("of-generation/generation_config.json", json({{"eos_token_id", {999, end}}}).dump());
  expect_end(model);
  folder.write("of-generation/generation_config.json", R"({"eos_token_id": "x"})");
  expect_refusal({"predict", model, "--tokens", "1,2,3", "--generate", "8"}, 4,
                 {"generation_config.json", "eos_token_id"});
}

TEST(CliPredict, StopsWhereLearnedPositionsEnd) {
  const json generated =
      report_of({"predict", forward_path("gpt2"), "--tokens", "1,2,3", "--generate", "1000"})
          .at("models")[0]
          .at("generated");
  const json context = report_of({"info", forward_path("gpt2")}).at("models")[0].at("context");
  if (generated.at("ended_by") == "end token") GTEST_SKIP() << "it ended before";
  EXPECT_EQ(generated.at("ended_by"), "context");
  EXPECT_EQ(generated.at("tokens").size(), context.get<std::size_t>() - 3 + 1);
}

/// A BERT that can be told texts.
std::string masked_model(const TempFolder& folder) {
  const fs::path to = folder.path() / "bert";
  fs::create_directories(to);
  for (const char* file : {"config.json", "model.safetensors"}) {
    fs::copy_file(fs::path(forward_path("bert")) / file, to / file);
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
  EXPECT_TRUE(contains(table, "in place of token 2")) << table;
}

TEST(CliPredict, SaysWhatATextWithoutAMaskLacks) {
  const TempFolder folder;
  const std::string model = masked_model(folder);
  const RunResult run = run_attnscope({"predict", model, "--text", "w7 w9"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_TRUE(contains(run.err, "write [MASK] where")) << run.err;
  EXPECT_TRUE(contains(run.out, "hidden states")) << run.out;
  expect_refusal({"predict", model, "--text", "w7", "--generate", "3"}, 5, {"both ways"});
  expect_refusal({"predict", model, "--text", "w7 w8", "--perplexity"}, 5, {"both ways"});
}

TEST(CliPredict, ADecoderThatSeesBothWaysForetellsNothing) {
  TinyLlama tiny = runnable_llama();
  tiny.config["is_causal"] = false;
  const TempFolder folder;
  const std::string model = tiny.write(folder, "model");
  const RunResult run = run_attnscope({"predict", model, "--tokens", "1,2,3"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_TRUE(contains(run.err, "sees a text both ways")) << run.err;
  expect_refusal({"predict", model, "--tokens", "1,2", "--generate", "3"}, 5, {"both ways"});
  expect_refusal({"predict", model, "--tokens", "1,2", "--perplexity"}, 5, {"both ways"});

  const json facts = report_of({"info", model})["models"][0];
  EXPECT_EQ(facts["causal"], false);
  EXPECT_EQ(facts["kv_cache_bytes_per_token"], nullptr);
  EXPECT_EQ(report_of({"info", kPredictLlama})["models"][0]["causal"], true);
  const Words lines = lines_of(output_of({"info", model}));
  EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    return line.starts_with("tokens see only those before them") && line.ends_with("no");
  }));

  tiny.config["is_causal"] = nullptr;
  expect_refusal({"predict", tiny.write(folder, "unclear"), "--tokens", "1,2"}, 5,
                 {"'is_causal' is null"});
}

TEST(CliPredict, OfAModelWithoutAHeadShowsHiddenStates) {
  const std::string model = forward_path("llama-body");
  const RunResult run = run_attnscope({"predict", model, "--tokens", "1,2", "--format", "json"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_TRUE(contains(run.err, "note: ")) << run.err;
  EXPECT_TRUE(contains(run.err, "no output head")) << run.err;
  const json report = json::parse(run.out);
  EXPECT_TRUE(report.at("rows").empty());
  EXPECT_FALSE(report.at("models")[0].at("hidden_states").empty());
  expect_refusal({"predict", model, "--tokens", "1,2", "--generate", "3"}, 5, {"no logits"});
  expect_refusal({"predict", model, "--tokens", "1,2", "--perplexity"}, 5, {"no logits"});
}

TEST(CliPredict, PerplexityIsTheMeanOverWindows) {
  const std::string text = read_file(source_path("examples/README.md"));
  const json report = report_of({"predict", kGpt2, "--text", text, "--perplexity"});
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
  // More to read before each token: easier to foretell.
  const json overlapping =
      report_of({"predict", kGpt2, "--text", text, "--perplexity", "--stride", "32"});
  EXPECT_LT(overlapping.at("models")[0].at("perplexity").at("mean_nll"), found.at("mean_nll"));
  EXPECT_EQ(overlapping.at("models")[0].at("perplexity").at("predicted"), next - 1);
  for (const std::string threads : {"1", "3"}) {
    EXPECT_EQ(report_of({"predict", kGpt2, "--text", text, "--perplexity", "--threads", threads}),
              report);
  }
}

TEST(CliPredict, IsSafeInATerminal) {
  const TempFolder folder;
  const std::string file =
      folder.write("text.txt", "a \x1b[31m red \x07 \xE2\x80\xAE end\n\r").string();
  for (const char* format : {"table", "csv"}) {
    const std::string out =
        output_of({"predict", kGpt2, "--text-file", file, "--generate", "3", "--format", format});
    EXPECT_FALSE(contains(out, "\x1b")) << out;
    EXPECT_FALSE(contains(out, "\x07")) << out;
    EXPECT_FALSE(contains(out, "\xE2\x80\xAE")) << out;
  }
}

TEST(CliPredict, RefusesWhatCannotBeRun) {
  const Words gpt2 = {"predict", kGpt2};
  expect_refusal(gpt2, 2, {"--text", "is needed"});
  expect_refusal(gpt2 + Words{"--text", ""}, 2, {"--text", "needs a value"});
  const TempFolder folder;
  const std::string empty = folder.write("empty.txt", "").string();
  expect_refusal(gpt2 + Words{"--text-file", empty}, 2, {empty, "is empty"});
  const std::string broken = folder.write("broken.txt", "To be \xff").string();
  expect_refusal(gpt2 + Words{"--text-file", broken}, 4, {broken + ": is not UTF-8 at byte 6"});
  expect_refusal(gpt2 + Words{"--text", "To \xff"}, 4, {"--text: is not UTF-8 at byte 3"});
  expect_refusal(gpt2 + Words{"--tokens", "1,x"}, 2, {"'x' is not a token id"});
  expect_refusal(gpt2 + Words{"--tokens", "1,1024"}, 2, {"token id 1024", "0 to 1023"});
  std::string many = "1";
  for (int at = 0; at < 256; ++at) many += ",1";
  expect_refusal(gpt2 + Words{"--tokens", many}, 2, {"257 tokens", "256"});
  expect_refusal(gpt2 + Words{"--text", "To be", "--perplexity", "--stride", "300"}, 2,
                 {"--stride"});
  expect_refusal(gpt2 + Words{"--tokens", "1", "--perplexity"}, 2, {"none that follows"});
  expect_refusal(gpt2 + Words{"--text", "a b", "--perplexity", "--generate", "3"}, 2,
                 {"--generate"});
  expect_refusal(gpt2 + Words{kPredictLlama, "--text", "a", "--save", "x.safetensors"}, 2,
                 {"--save"});
  expect_refusal({"predict", forward_path("llama"), "--text", "a"}, 2,
                 {"tokenizer.json", "--tokens"});
  const std::string out = (folder.path() / "same").string();
  expect_refusal(gpt2 + Words{"--text", "a", "--save", out, "--out", out}, 2,
                 {"--out", "the file that --save names"});
  EXPECT_EQ(files_in(folder.path()), (Words{"broken.txt", "empty.txt"}));
}

TEST(CliPredict, CountsOneThingAsOne) {
  const Words predict = {"predict", source_path("examples/shakespeare-gpt2"), "--tokens"};
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

TEST(CliPredict, NamesATensorThatIsMissing) {
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
