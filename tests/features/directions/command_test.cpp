// `attnscope directions`: top tokens of singular vectors on the examples, compared with a float64
// NumPy reference, and models without usable candidate tokens.
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "tests/features/attention/attention_model.h"

namespace attnscope::test {
namespace {

json directions_rows(const std::string& model, const Words& more) {
  return report_of(Words{"directions", source_path("examples/" + model)} + more)["rows"];
}

/// The first token ids of a row.
std::vector<std::int64_t> first_ids(const json& row, std::size_t count) {
  std::vector<std::int64_t> ids;
  for (std::size_t at = 0; at < count; ++at) ids.push_back(row["tokens"][at]["token_id"]);
  return ids;
}

struct WantedList {
  std::string model, layer, head, matrix, side;
  double value;
  std::vector<std::int64_t> ids;
  double coherence;
  std::optional<bool> named;  // nullopt: too close to the random baseline
};

/// Top tokens of one sign of direction 1. Which of the two signs is + may differ between builds.
TEST(Directions, FindsTheTopTokensOfTheExamples) {
  const std::vector<WantedList> wanted = {
      {"shakespeare-gpt2", "5", "4", "qk", "query", 2.806564, {12, 1, 14, 27, 31}, 0.287, true},
      {"shakespeare-gpt2", "0", "0", "ov", "output", 0.533525, {363, 324, 78}, 0.054, std::nullopt},
      {"shakespeare-gpt2", "0", "0", "ov", "output", 0.533525, {525, 863, 562}, 0.042, false},
      {"shakespeare-llama", "5", "2", "ov", "output", 0.689548, {52, 40, 57, 44, 37}, 0.362, true},
      {"shakespeare-llama",
       "5",
       "2",
       "ov",
       "input",
       0.689548,
       {703, 981, 487, 723, 576},
       0.391,
       std::nullopt},
      {"shakespeare-llama",
       "3",
       "0",
       "qk",
       "key",
       1.805233,
       {14, 1, 825, 26, 12},
       0.375,
       std::nullopt}};
  for (const WantedList& list : wanted) {
    SCOPED_TRACE(list.model + " L" + list.layer + "H" + list.head + " " + list.side);
    const json rows = directions_rows(list.model, {"--layers", list.layer, "--head", list.head,
                                                   "--matrix", list.matrix, "--directions", "1"});
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const json& row) {
      return row["singular_vector"] == list.side && first_ids(row, list.ids.size()) == list.ids;
    });
    ASSERT_NE(found, rows.end()) << rows.dump(1);
    EXPECT_NEAR((*found)["value"].get<double>(), list.value, 1e-6);
    EXPECT_NEAR((*found)["coherence"].get<double>(), list.coherence, 6e-4);
    if (list.named) {
      EXPECT_EQ((*found)["named"], *list.named);
    }
  }
}

TEST(Directions, ExcludesUntrainedTokens) {
  for (const char* model : {"shakespeare-gpt2", "shakespeare-llama"}) {
    const Words words = {"directions", source_path(std::string("examples/") + model),
                         "--layers",   "1",
                         "--head",     "0"};
    const json skipped = report_of(words), all = report_of(words + Words{"--all-tokens"});
    EXPECT_EQ(skipped["models"][0]["candidate_tokens"]["untrained"], 220);
    EXPECT_EQ(skipped["models"][0]["candidate_tokens"]["tokens"], 1024 - 220);
    EXPECT_EQ(all["models"][0]["candidate_tokens"]["tokens"], 1024);
  }
  // Without a tokenizer, untrained tokens are unknown.
  const json unknown = report_of({"directions", data_path("forward/llama"), "--layers", "0"});
  EXPECT_TRUE(unknown["models"][0]["candidate_tokens"]["untrained"].is_null());
  EXPECT_TRUE(unknown["rows"][0]["rarity"].is_null());
}

TEST(Directions, SignsAreOppositeAndEnergiesSumToOne) {
  const json rows = directions_rows(
      "shakespeare-gpt2", {"--layers", "2", "--head", "3", "--directions", "32", "--top", "2"});
  double energy = 0;
  std::set<std::int64_t> seen;
  for (const json& row : rows) {
    EXPECT_GE(row["tokens"][0]["score"].get<double>(), row["tokens"][1]["score"].get<double>());
    EXPECT_GT(row["tokens"][0]["score"].get<double>(), 0);
    EXPECT_LE(std::abs(row["tokens"][0]["cosine"].get<double>()), 1 + 1e-9);
    if (seen.insert(row["direction"].get<std::int64_t>()).second) {
      energy += row["energy"].get<double>();
    }
  }
  EXPECT_EQ(seen.size(), 32u);
  EXPECT_NEAR(energy, 1, 1e-12);
}

/// In a model of random weights, about 1% of the lists are above chance. Here a few of 72 may be.
TEST(Directions, ARandomModelHasHardlyAnyListsAboveChance) {
  const json rows = report_of({"directions", data_path("forward/llama"), "--matrix", "qk"})["rows"];
  ASSERT_FALSE(rows.empty());
  std::size_t named = 0;
  for (const json& row : rows) named += row["named"].get<bool>() ? 1 : 0;
  EXPECT_LT(named, rows.size() / 5);
}

TEST(Directions, TokenCopyingEqualsTheReference) {
  const struct {
    std::string model, layer, head;
    double score, full;
  } wanted[] = {{"shakespeare-gpt2", "0", "0", .979710635, .987129},
                {"shakespeare-gpt2", "3", "3", .013899903, -.746653},
                {"shakespeare-gpt2", "5", "4", -.411573810, -.883942},
                {"shakespeare-llama", "5", "2", .103657172, .407929}};
  for (const auto& [model, layer, head, score, full] : wanted) {
    SCOPED_TRACE(model + " L" + layer + "H" + head);
    const json rows = directions_rows(
        model, {"--layers", layer, "--head", head, "--directions", "1", "--top", "1", "--copying"});
    // Beyond the first layer, the token states come from a float32 forward pass, whose error is
    // 8e-9 here.
    EXPECT_NEAR(rows[0]["token_copying"].get<double>(), score, layer == "0" ? 2e-9 : 2e-8);
    EXPECT_NEAR(rows[0]["full_copying"].get<double>(), full, 1e-6);
  }
  const RunResult qk = run_attnscope(
      {"directions", source_path("examples/shakespeare-gpt2"), "--matrix", "qk", "--copying"});
  EXPECT_EQ(qk.exit_code, 2);
  EXPECT_TRUE(contains(qk.err, "--copying: requires --matrix ov")) << qk.err;
}

/// For the first two directions, on the text of the golden files.
TEST(Directions, TextCorrelationEqualsTheReference) {
  const json texts = json::parse(read_file(source_path("tests/golden/interventions/texts.json")));
  const struct {
    std::string model, layer, head, matrix, side;
    std::vector<double> hold;
  } cases[] = {{"shakespeare-gpt2", "0", "0", "qk", "key", {.9381432, .8832375}},
               {"shakespeare-gpt2", "5", "4", "ov", "input", {.4817831, .3664355}},
               {"shakespeare-llama", "0", "2", "ov", "input", {1, 1}},
               {"shakespeare-llama", "3", "0", "qk", "query", {.7997709, .8848702}}};
  const TempFolder folder;
  for (const auto& [model, layer, head, matrix, side, hold] : cases) {
    SCOPED_TRACE(model + " L" + layer + "H" + head + " " + side);
    std::vector<std::uint16_t> tokens;
    for (const json& window : texts.at(model)) {
      for (const json& token : window) tokens.push_back(token);
    }
    const json rows = directions_rows(
        model, {"--layers", layer, "--head", head, "--matrix", matrix, "--directions", "2", "--top",
                "1", "--token-file", folder.write("t.bin", shard_bytes(tokens)).string(),
                "--sequences", "2", "--length", "128"});
    std::size_t seen = 0;
    for (const json& row : rows) {
      EXPECT_EQ(row["text_correlation"].is_null(), row["singular_vector"] == "output");
      if (row["singular_vector"] != side) continue;
      ++seen;
      const std::size_t at = row["direction"].get<std::size_t>() - 1;
      EXPECT_NEAR(row["text_correlation"].get<double>(), hold[at], 2e-6);
    }
    EXPECT_EQ(seen, 4u);  // two signs each
  }
}

TEST(Directions, TextCorrelationNeedsEnoughDistinctTokens) {
  const Words model = {"directions", data_path("forward/llama"), "--layers", "1", "--directions",
                       "1"};
  for (const char* few : {"5,5,5", "1,2,3,4,5,6,7,8,9,9,9"}) {
    const RunResult run = run_attnscope(model + Words{"--tokens", few, "--format", "json"});
    const json report = json::parse(run.out);
    for (const json& row : report["rows"]) EXPECT_TRUE(row["text_correlation"].is_null());
    EXPECT_TRUE(contains(run.err, "the text has fewer than 10 distinct candidate tokens"))
        << run.err;
    EXPECT_FALSE(contains(output_of(model + Words{"--tokens", few, "--quiet"}), "correlation"));
  }
  const json enough = report_of(model + Words{"--tokens", "1,2,3,4,5,6,7,8,9,10"});
  EXPECT_TRUE(enough["rows"][0]["text_correlation"].is_number());
  expect_refusal(model + Words{"--tokens", "999999"}, kUsage, {"999999"});
  const json without = report_of(model);
  EXPECT_FALSE(without["rows"][0].contains("text_correlation"));
  EXPECT_FALSE(without["parameters"].contains("tokens_hash"));
}

/// The input of cross-attention is the encoder's output, not a text of the decoder.
TEST(Directions, DecodersHaveNoTextCorrelation) {
  const RunResult run =
      run_attnscope({"directions", data_path("gguf-encoder-decoders/t5-gated.gguf"), "--tokens",
                     "1,2,3", "--layers", "0", "--format", "json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.err, "no text correlation")) << run.err;
}

TEST(Directions, PairsAreTheStrongestOfAHead) {
  const Words head = {"--layers", "0", "--head", "0", "--pairs"};
  const json rows = directions_rows("shakespeare-gpt2", head + Words{"3"});
  ASSERT_EQ(rows.size(), 3u);
  const std::vector<std::pair<std::string, double>> wanted = {
      {" qu", 2.2433}, {"b", 2.1330}, {" de", 2.0031}};
  for (std::size_t at = 0; at < wanted.size(); ++at) {
    EXPECT_EQ(rows[at]["input_text"], wanted[at].first);
    EXPECT_EQ(rows[at]["output_text"], wanted[at].first);
    EXPECT_NEAR(rows[at]["score"].get<double>(), wanted[at].second, 1e-4);
  }
  const json keys = directions_rows("shakespeare-gpt2", head + Words{"5", "--matrix", "qk"});
  for (std::size_t at = 1; at < keys.size(); ++at) {
    EXPECT_GE(keys[at - 1]["score"].get<double>(), keys[at]["score"].get<double>());
  }
  const struct {
    Words words;
    std::string reason;
  } refused[] = {{{"--pairs", "3"}, "--pairs: requires a single head"},
                 {{"--pairs", "3", "--head", "0"}, "--pairs: requires a single head"},
                 {{"--pairs", "3", "--matrix", "down", "--layers", "0"},
                  "--pairs: requires --matrix ov or qk"},
                 {{"--pairs", "3", "--top", "4", "--layers", "0", "--head", "0"}, "--pairs"}};
  for (const auto& [words, reason] : refused) {
    const RunResult run =
        run_attnscope(Words{"directions", source_path("examples/shakespeare-gpt2")} + words);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_TRUE(contains(run.err, reason)) << run.err;
  }
  const RunResult bert = run_attnscope(
      {"directions", data_path("forward/bert"), "--layers", "0", "--head", "0", "--pairs", "3"});
  EXPECT_NE(bert.exit_code, 0);
  EXPECT_TRUE(contains(bert.err, "tokens cannot describe its output")) << bert.err;
}

TEST(Directions, RejectsAnUnsupportedMatrixAndListsSupportedOnes) {
  for (const char* matrix : {"kv", "q", "router"}) {
    expect_refusal(
        {"directions", source_path("examples/shakespeare-gpt2"), "--matrix", matrix}, kUsage,
        {"--matrix: '" + std::string(matrix) + "' is not supported here; supported: ov, qk"});
  }
}

TEST(Directions, SkipsUnsupportedMatricesWithAReason) {
  const RunResult bert = run_attnscope({"directions", data_path("forward/bert"), "--layers", "0"});
  EXPECT_EQ(bert.exit_code, 0) << bert.err;
  EXPECT_TRUE(contains(bert.err, "no top tokens for output vectors")) << bert.err;
  EXPECT_TRUE(contains(bert.out, "input"));
  EXPECT_FALSE(contains(bert.out, "output"));
  const RunResult head =
      run_attnscope({"directions", source_path("examples/shakespeare-gpt2"), "--head", "6"});
  EXPECT_EQ(head.exit_code, 2);
  EXPECT_TRUE(contains(head.err, "has heads 0 to 5")) << head.err;
  const RunResult matrix =
      run_attnscope({"directions", source_path("examples/shakespeare-gpt2"), "--matrix", "gate"});
  EXPECT_EQ(matrix.exit_code, 2);
}

// ---- The example model with induction heads -----------------------------------------------------

const std::string kInduction = source_path("examples/induction-gpt2");

/// Commands that only name tokens print a note, and ids, for a tokenizer that cannot be read.
TEST(Directions, NeedsNoTokenizer) {
  const TempFolder folder;
  std::filesystem::copy(data_path("llama"), folder.path(),
                        std::filesystem::copy_options::recursive);
  folder.write("tokenizer.model", "YQ== 0\n");
  folder.write("tokenizer_config.json", R"({"tokenizer_class": "TikTokenTokenizer"})");
  const std::string unread = folder.path().string();
  for (const Words& more : {Words{"--directions", "1"}, Words{"--head", "0", "--pairs", "3"}}) {
    const RunResult run = run_attnscope(Words{"directions", unread, "--layers", "0"} + more);
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_TRUE(contains(run.err, "note: tokens are shown as ids: ")) << run.err;
    EXPECT_TRUE(contains(run.out, "38")) << run.out;
  }
}

/// The textbook circuit: a previous-token head composes with the keys of the induction heads.
TEST(InductionCircuit, IsFoundByAblation) {
  const json maps = report_of({"attention", kInduction, "--induction", "--length", "60"})["rows"];
  std::int64_t best = -1;
  double most = 0;
  for (const json& row : maps) {
    if (row["layer"] == 1 && row["induction"].get<double>() > most) {
      most = row["induction"].get<double>();
      best = row["head"].get<std::int64_t>();
    }
  }
  ASSERT_GT(most, 0.5);

  // The head of layer 0 whose ablation increases the loss most.
  const json rows = report_of({"ablate", kInduction, "--induction", "--length", "60"})["rows"];
  std::map<std::int64_t, double> worth, induction;
  for (const json& row : rows) {
    if (row["layer"] != 0 || row["receiver_head"] != best) continue;
    worth[row["head"].get<std::int64_t>()] = row["loss_increase"].get<double>();
    induction[row["head"].get<std::int64_t>()] = row["induction"].get<double>();
    EXPECT_NEAR(row["induction_before"].get<double>(), most, 1e-6);
    EXPECT_LT(row["loss"].get<double>(), 0.1);
  }
  ASSERT_EQ(worth.size(), 4u);

  const json paths = report_of({"ablate", kInduction, "--induction", "--length", "60", "--receiver",
                                "L1H" + std::to_string(best)})["rows"];
  std::map<std::int64_t, double> of_keys, of_queries;
  for (const json& row : paths) {
    EXPECT_TRUE(row["loss_increase"].is_null());
    EXPECT_NEAR(row["induction_before"].get<double>(), most, 1e-6);
    EXPECT_GE(row["write_change"].get<double>(), 0);
    if (row["receiver_input"] == "v") {  // values do not affect the map
      EXPECT_NEAR(row["induction"].get<double>(), most, 1e-6);
      EXPECT_GT(row["write_change"].get<double>(), 0.01);
      continue;
    }
    auto& of_input = row["receiver_input"] == "k" ? of_keys : of_queries;
    of_input[row["head"].get<std::int64_t>()] = row["induction"].get<double>();
  }
  const auto lowest = std::min_element(of_keys.begin(), of_keys.end(),
                                       [](auto& a, auto& b) { return a.second < b.second; });
  const std::int64_t previous = lowest->first;
  EXPECT_LT(of_keys[previous], most - 0.15);           // the receiver's keys depend on it,
  EXPECT_GT(of_queries[previous], of_keys[previous]);  // its queries do not;
  EXPECT_GT(worth[previous], 0.5);                     // the model needs it,
  EXPECT_LT(induction[previous], most - 0.15);         // and so does the induction head;
  std::string ids;
  for (int at = 0; at < 48; ++at) ids += (at == 0 ? "" : ",") + std::to_string(at * 29 % 61);
  const json on_text = report_of({"attention", kInduction, "--tokens", ids});
  for (const json& row : on_text["rows"]) {
    if (row["layer"] == 0 && row["head"] == previous) {
      EXPECT_GT(row["previous_token"].get<double>(), 0.5);  // a previous-token head
    }
  }
}

TEST(InductionCircuit, ReceiverNeedsInductionAndAHead) {
  const RunResult alone =
      run_attnscope({"ablate", kInduction, "--tokens", "1,2,3", "--receiver", "1,0"});
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_TRUE(contains(alone.err, "--receiver: requires --induction")) << alone.err;
  const RunResult none = run_attnscope({"ablate", kInduction, "--induction", "--receiver", "1,4"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_TRUE(contains(none.err, "has heads 0 to 3")) << none.err;
}

}  // namespace
}  // namespace attnscope::test
