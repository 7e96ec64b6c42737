// Adapters as the second model of `diff`, and adapter folders given as a model: damaged ones, types
// other than LoRA, and options that PEFT does not merge into weights.
#include <filesystem>

#include "tests/support/program.h"
#include "tests/support/safetensors_writer.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

const std::string kAdapterBase = data_path("adapters/base-llama");
const std::string kOfQuery = "base_model.model.model.layers.0.self_attn.q_proj.";

/// Adapts q_proj of layer 0 of the base, whose hidden size is 8.
json small_config() {
  return {{"peft_type", "LORA"},
          {"base_model_name_or_path", "org/base"},
          {"r", 2},
          {"lora_alpha", 3},
          {"target_modules", {"layers.0.self_attn.q_proj"}}};
}

std::vector<TensorToWrite> small_factors() {
  return {counting_tensor(kOfQuery + "lora_A.weight", {2, 8}),
          counting_tensor(kOfQuery + "lora_B.weight", {8, 2})};
}

class AdapterFolder : public ::testing::Test {
 protected:
  std::string write(const json& changes, const std::vector<TensorToWrite>& tensors) const {
    json config = small_config();
    if (!changes.is_null()) config.update(changes);
    folder_.write("lora/adapter_config.json", config.dump());
    folder_.write("lora/adapter_model.safetensors", safetensors_bytes(tensors));
    return (folder_.path() / "lora").string();
  }

  static Words compare(const std::string& adapter) {
    return {"diff", kAdapterBase, adapter, "--matrix", "q", "--quiet"};
  }

  double change(const json& changes) const {
    return report_of(compare(write(changes, small_factors())))["rows"][0]["change_norm"];
  }

  const TempFolder folder_;
};

TEST_F(AdapterFolder, UsesTheFirstMatchingPattern) {
  const double plain = change({});
  ASSERT_GT(plain, 0);
  const std::pair<json, double> cases[] = {
      {{{"q_proj", 6}}, 2},
      {{{"proj", 6}}, 1},  // matches only whole components of names, like PEFT
      {{{".*_proj", 6}}, 2},
      {{{"^model\\.layers\\.0\\..*", 6}}, 2},
      {{{"^layers\\.0\\..*", 6}}, 1},
      {{{"layers\\.1\\..*|self_attn\\.(?:q|k)_proj", 6}}, 2},
      {{{"(?!model).*", 6}}, 2},  // the text before the first dot is "model."
      {{{"q_proj", 6}, {"z.*", 12}, {"a.*", 24}}, 2},
      {json::object(), 1},
      {nullptr, 1},
  };
  for (const auto& [pattern, times] : cases) {
    SCOPED_TRACE(pattern.dump());
    EXPECT_NEAR(change({{"alpha_pattern", pattern}}), times * plain, 1e-12 * plain);
  }
  // The order in the file applies, not the alphabetical order.
  const std::string adapter = write({}, small_factors());
  std::string config = small_config().dump();
  config.insert(1, R"("alpha_pattern": {"q_proj": 6, ".*q_proj": 12}, )");
  folder_.write("lora/adapter_config.json", config);
  EXPECT_NEAR(report_of(compare(adapter))["rows"][0]["change_norm"].get<double>(), 2 * plain,
              1e-12 * plain);
}

TEST_F(AdapterFolder, NamesUnsupportedPatterns) {
  const std::pair<const char*, const char*> cases[] = {
      {"(q)_\\1", "back-reference"}, {"(?i)q_proj", "flags"}, {"q++", "possessive"}};
  for (const auto& [pattern, said] : cases) {
    for (const char* option : {"alpha_pattern", "rank_pattern"}) {
      expect_refusal(compare(write({{option, {{pattern, 2}}}}, small_factors())), kUnsupported,
                     {"adapter_config.json", said});
    }
    expect_refusal(compare(write({{"target_modules", pattern}}, small_factors())), kUnsupported,
                   {"adapter_config.json", said});
  }
  expect_refusal(compare(write({{"alpha_pattern", {{"(q", 2}}}}, small_factors())), kBadFile,
                 {"adapter_config.json", "(q"});
}

TEST_F(AdapterFolder, NamesTheTensorOfADamagedAdapter) {
  const auto a = small_factors()[0], b = small_factors()[1];
  const TensorToWrite of_layer_1 =
      counting_tensor("base_model.model.model.layers.1.self_attn.q_proj.lora_B.weight", {8, 2});
  struct Damaged {
    json changes;
    std::vector<TensorToWrite> tensors;
    Words said;
  };
  const Damaged cases[] = {
      {{}, {}, {"contains no adapter tensors"}},
      {{}, {a}, {kOfQuery + "lora_B.weight", "is missing"}},
      {{}, {b}, {kOfQuery + "lora_A.weight", "is missing"}},
      {{{"target_modules", {"q_proj"}}},
       {a, b},
       {"layers.1.self_attn.q_proj.lora_A.weight", "is missing"}},
      {{{"target_modules", {"q_proj"}}},
       {a, b, of_layer_1},
       {"layers.1.self_attn.q_proj.lora_A.weight", "is missing"}},
      {{{"lora_bias", true}}, {a, b}, {"lora_B.bias", "is missing"}},
      {{}, {a, b, counting_tensor(kOfQuery + "lora_B.bias", {8})}, {"lora_B.bias", "lora_bias"}},
      {{{"r", 5}}, {a, b}, {kOfQuery + "lora_A.weight", "rank 2", "5"}},
      {{{"rank_pattern", {{"q_proj", 1}}}}, {a, b}, {kOfQuery + "lora_A.weight", "rank 2", "1"}},
      {{},
       {counting_tensor(kOfQuery + "lora_A.weight", {3, 8}), b},
       {"lora_B.weight", "ranks differ"}},
      {{},
       {counting_tensor(kOfQuery + "lora_A.weight", {2, 7}), b},
       {"lora_B.weight", "[8, 7]", "[8, 8]"}},
      {{},
       {counting_tensor(kOfQuery + "lora_A.weight", {16}), b},
       {"lora_B.weight", "two matrices"}},
      {{},
       {counting_tensor(kOfQuery + "lora_A.weight", {0, 8}),
        counting_tensor(kOfQuery + "lora_B.weight", {8, 0})},
       {"rank 0"}},
      {{{"target_modules", {"k_proj"}}}, {a, b}, {kOfQuery, "does not adapt"}},
      {{{"exclude_modules", {"q_proj"}}}, {a, b}, {kOfQuery, "does not adapt"}},
      {{{"target_modules", {"q_proj"}}, {"layers_to_transform", 1}},
       {a, b},
       {kOfQuery, "does not adapt"}},
      {{},
       {a, b, counting_tensor("base_model.model.score.weight", {3, 8})},
       {"score.weight", "does not have"}},
      {{},
       {a, b, counting_tensor("model.norm.weight", {8})},
       {"model.norm.weight", "base_model.model."}},
      {{}, {a, b, counting_tensor("base_model.model.model.norm.weight", {9})}, {"[9]", "[8]"}},
      {{{"trainable_token_indices", {1}}}, {a, b}, {"trainable_token_indices"}},
      {{{"trainable_token_indices", {11}}},
       {a, b,
        counting_tensor("base_model.model.model.embed_tokens.token_adapter.trainable_tokens_delta",
                        {1, 8})},
       {"row 11"}},
      {{},
       {a, b,
        counting_tensor("base_model.model.model.embed_tokens.token_adapter.trainable_tokens_delta",
                        {1, 8})},
       {"trainable_token_indices"}},
      {{}, {zero_tensor(a.name, "I32", 32, {2, 8}), b}, {"lora_A.weight", "I32"}},
      {{}, {a, zero_tensor(b.name, "BOOL", 8, {8, 2})}, {"lora_B.weight", "BOOL"}},
      {{},
       {a, b, zero_tensor("base_model.model.model.norm.weight", "I64", 64, {8})},
       {"model.norm.weight", "I64"}},
      {{{"modules_to_save", {"lm_head"}}},
       {a, b},
       {"base_model.model.lm_head.weight", "is missing", "modules_to_save"}},
      {{{"modules_to_save", {"layers.1.mlp"}}},
       {a, b, counting_tensor("base_model.model.model.layers.1.mlp.up_proj.weight", {12, 8})},
       {"layers.1.mlp.", "is missing", "modules_to_save"}},
      {{{"use_dora", true}}, {a, b}, {"lora_magnitude_vector", "is missing", "use_dora"}},
      {{},
       {a, b, counting_tensor(kOfQuery + "lora_magnitude_vector", {8})},
       {"lora_magnitude_vector", "use_dora"}},
      {{{"use_dora", true}},
       {a, b, counting_tensor(kOfQuery + "lora_magnitude_vector", {7})},
       {"lora_magnitude_vector", "[7]", "[8]"}},
      {{{"use_dora", true}},
       {a, b, counting_tensor(kOfQuery + "lora_magnitude_vector", {2, 4})},
       {"lora_magnitude_vector", "[2, 4]", "[8]"}},
      {{{"bias", "weird"}}, {a, b}, {"'bias'", "weird", "lora_only"}},
      {{{"bias", 3}}, {a, b}, {"'bias'", "3"}},
      {{{"r", 0}}, {a, b}, {"'r'"}},
      {{{"r", nullptr}}, {a, b}, {"'r'"}},
      {{{"lora_alpha", "16"}}, {a, b}, {"'lora_alpha'"}},
      {{{"alpha_pattern", {1}}}, {a, b}, {"'alpha_pattern'"}},
      {{{"alpha_pattern", {{"q_proj", "8"}}}}, {a, b}, {"'q_proj' of alpha_pattern"}},
      {{{"rank_pattern", {{"q_proj", 1.5}}}}, {a, b}, {"'q_proj' of rank_pattern"}},
      {{{"use_rslora", "yes"}}, {a, b}, {"'use_rslora'"}},
      {{{"target_modules", {3}}}, {a, b}, {"'target_modules'"}},
      {{{"layers_to_transform", {-1}}}, {a, b}, {"'layers_to_transform'"}},
  };
  for (const Damaged& damaged : cases) {
    SCOPED_TRACE(damaged.changes.dump());
    expect_refusal(compare(write(damaged.changes, damaged.tensors)), kBadFile, damaged.said);
  }
}

/// Python's json module writes NaN and Infinity without quotes.
TEST_F(AdapterFolder, NamesTheKeyOfANonFiniteNumber) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("lora_alpha": @)", "'lora_alpha'"},
      {R"("r": @)", "'r'"},
      {R"("lora_dropout": @)", "'lora_dropout'"},
      {R"("alpha_pattern": {"q_proj": @})", "'q_proj' of alpha_pattern"},
      {R"("rank_pattern": {"q_proj": @})", "'q_proj' of rank_pattern"}};
  const std::string adapter = write({}, small_factors());
  for (const auto& [entry, said] : cases) {
    for (const std::string number : {"NaN", "Infinity", "-Infinity"}) {
      SCOPED_TRACE(entry + number);
      std::string text = entry;
      text.replace(text.find('@'), 1, number);
      json config = small_config();
      config.erase(text.substr(1, text.find('"', 1) - 1));
      std::string file = config.dump();
      file.insert(1, text + ", ");
      folder_.write("lora/adapter_config.json", file);
      expect_refusal(compare(adapter), kBadFile, {"adapter_config.json", said, "number"});
    }
  }
}

TEST_F(AdapterFolder, RequiresASavedTiedHeadInTheFile) {
  const std::string adapter = write({{"modules_to_save", {"lm_head"}}}, small_factors());
  expect_refusal({"diff", data_path("adapters/base-tied"), adapter}, kBadFile,
                 {"base_model.model.lm_head.weight", "is missing", "modules_to_save"});
}

TEST_F(AdapterFolder, AppliesOrRejectsOptionsThatChangeMergedWeights) {
  const std::pair<json, const char*> cases[] = {
      {{{"use_qalora", true}}, "QA-LoRA"},
      {{{"use_bdlora", {{"nblocks", 2}}}}, "BD-LoRA"},
      {{{"kasa_config", {{"beta", 1e-4}}}}, "KaSA"},
      {{{"alora_invocation_tokens", {1, 2}}}, "aLoRA"},
      {{{"arrow_config", {{"top_k", 3}}}}, "Arrow"},
      {{{"monteclora_config", {{"num_samples", 8}}}}, "MonteCLoRA"},
      {{{"layer_replication", json::parse("[[0, 2], [1, 2]]")}}, "layer_replication"},
      {{{"megatron_config", {{"a", 1}}}}, "Megatron"},
      {{{"enable_lora", {true, false}}}, "enable_lora"},
      {{{"init_lora_weights", "pissa_niter_4"}}, "pissa_niter_4"},
      {{{"init_lora_weights", "corda"}}, "CorDA"},
      {{{"init_lora_weights", "loftq"}}, "LoftQ"},
      {{{"init_lora_weights", "PiSSA"}}, "'PiSSA'"},
      {{{"init_lora_weights", "unheard of"}}, "unheard of"},
      {{{"peft_type", "XLORA"}}, "X-LoRA"},
      {{{"peft_type", "C3A"}}, "save_as_lora"},
      {{{"peft_type", "HIRA"}}, "merge_and_unload"},
      {{{"peft_type", "PROMPT_TUNING"}}, "prompt tuning"},
      {{{"peft_type", "PREFIX_TUNING"}}, "prefix tuning"},
      {{{"peft_type", nullptr}}, "unknown type"},
  };
  for (const auto& [changes, said] : cases) {
    SCOPED_TRACE(changes.dump());
    expect_refusal(compare(write(changes, small_factors())), kUnsupported,
                   {"adapter_config.json", said});
  }
  const std::pair<const char*, const char*> tensors[] = {{"lora_diag", "KaSA"},
                                                         {"lora_unknown", "plain LoRA"}};
  for (const auto& [name, said] : tensors) {
    std::vector<TensorToWrite> all = small_factors();
    all.push_back(counting_tensor(kOfQuery + name, {2}));
    expect_refusal(compare(write({}, all)), kUnsupported, {kOfQuery + name, said});
  }
  // An unknown option causes at least a note.
  const Words words = {"diff", kAdapterBase, write({{"use_new_kind", true}}, small_factors())};
  const RunResult run = run_attnscope(words);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.err, "'use_new_kind'")) << run.err;
}

/// Trainers store the base's config.json and their own files next to the adapter's config.
TEST_F(AdapterFolder, IsFoundNextToAConfigOfTheBase) {
  const std::string adapter = write({}, small_factors());
  const json alone = report_of(compare(adapter));
  folder_.write("lora/config.json", read_file(kAdapterBase + "/config.json"));
  EXPECT_EQ(report_of(compare(adapter))["rows"], alone["rows"]);
  EXPECT_EQ(report_of({"info", kAdapterBase + "+" + adapter})["models"].size(), 1u);
  folder_.write("lora/training_args.bin", "not weights");
  folder_.write("lora/optimizer.pt", "not weights");
  EXPECT_EQ(report_of(compare(adapter))["rows"], alone["rows"]);
  // A merged model counts as a model, whatever else the folder contains.
  folder_.write("lora/model.safetensors", read_file(kAdapterBase + "/model.safetensors"));
  const RunResult run = run_attnscope({"diff", kAdapterBase, adapter, "--format", "json"});
  EXPECT_EQ(json::parse(run.out)["rows"][0]["change_norm"], 0.0);
  EXPECT_TRUE(contains(run.err, "contains a model and an adapter")) << run.err;
}

TEST_F(AdapterFolder, NotesAHeadThatDiffersFromATiedBase) {
  const RunResult run =
      run_attnscope({"diff", data_path("adapters/base-tied"), data_path("adapters/saved_head")});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.err, "adds 1 tensor other than matrices: lm_head.weight")) << run.err;
  EXPECT_TRUE(contains(run.err, "'lm_head.weight', differs from the embedding")) << run.err;
}

/// The head of a classifier, which the base lacks.
TEST_F(AdapterFolder, NotesAHeadThatFineTuningAdded) {
  std::vector<TensorToWrite> all = small_factors();
  all.push_back(counting_tensor("base_model.model.score.weight", {3, 8}));
  const std::string adapter =
      write({{"modules_to_save", {"classifier", "score"}}, {"task_type", "SEQ_CLS"}}, all);
  const RunResult run = run_attnscope({"diff", kAdapterBase, adapter});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.err, "adds 1 tensor other than matrices: score.weight")) << run.err;
}

}  // namespace
}  // namespace attnscope::test
