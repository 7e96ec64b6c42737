// Plans of models that are not plain safetensors files with separate heads: MLA, quantized weights,
// GGUF. Compression writes plain models from them.
#include "tests/features/plan/plan_of_tokens.h"
#include "tests/support/gguf_writer.h"

namespace attnscope::test {
namespace {

class PlanOfMlaModels : public PlanOfTokens {};

TEST_F(PlanOfMlaModels, SupportsDepthMlpAndLowRank) {
  for (const char* name : {"deepseek_v3", "deepseek_v3-bias", "deepseek_v2", "minicpm3"}) {
    EXPECT_EQ(compared_forms(tiny_model(name), 48),
              (std::set<std::string>{"depth", "mlp", "low-rank"}))
        << name;
  }
  // In MoE layers, experts are pruned, not neurons. In the second model, no expert group can lose
  // one.
  EXPECT_EQ(compared_forms(tiny_model("kimi_k25"), 48),
            (std::set<std::string>{"depth", "experts", "low-rank"}));
  EXPECT_EQ(compared_forms(tiny_model("deepseek_v3-experts"), 48),
            (std::set<std::string>{"depth", "low-rank"}));
}

TEST_F(PlanOfMlaModels, WrittenModelEqualsThePlan) {
  for (const char* name : {"deepseek_v3", "deepseek_v3-bias", "deepseek_v2", "minicpm3"}) {
    expect_written_as_planned(tiny_model(name), 48, {"--set", "remove-layers=1"});
    expect_written_as_planned(tiny_model(name), 48, {"--method", "mlp", "--keep", "0.9"});
    expect_written_as_planned(tiny_model(name), 48, {"--method", "low-rank", "--keep", "0.7"});
  }
  expect_written_as_planned(tiny_model("kimi_k25"), 48, {"--set", "experts=6"});
  for (const char* name : {"kimi_k25", "deepseek_v3-experts"}) {
    expect_written_as_planned(tiny_model(name), 48, {"--set", "remove-layers=0"});
    expect_written_as_planned(tiny_model(name), 48, {"--set", "remove-layers=1"});
    expect_written_as_planned(tiny_model(name), 48, {"--method", "low-rank", "--keep", "0.7"});
  }
}

TEST_F(PlanOfMlaModels, RejectsLowRankForLatentUpProjections) {
  for (const char* set : {"low-rank=0.q_b:2", "low-rank=1.kv_b:2"}) {
    const RunResult run =
        run_attnscope(on_tokens({"plan", tiny_model("deepseek_v3"), "--set", set}, 48));
    EXPECT_TRUE(run.exit_code == kUsage || run.exit_code == kUnsupported) << run.err;
    EXPECT_FALSE(contains(run.err, "internal")) << run.err;
  }
}

class PlanOfQuantized : public PlanOfTokens, public ::testing::WithParamInterface<const char*> {};

/// Uses the models of tests/data/quantized that can run.
TEST_P(PlanOfQuantized, WritesAPlainModelAndNotesIt) {
  allowed_of_nll_ = 2e-3;  // kept matrices are measured as stored, but written in bfloat16
  const std::string model = data_path(std::string("quantized/") + GetParam());
  for (const char* set : {"mlp=40", "hidden-size=56", "kv-heads=1", "mla=16+16"}) {
    const std::string err = expect_written_as_planned(model, 40, {"--set", set});
    EXPECT_TRUE(contains(err, "quantized weights were written as BF16")) << err;
    EXPECT_EQ(written_dtypes(), std::set<std::string>{"BF16"});
    const json config = json::parse(read_file(path("out") + "/config.json"));
    EXPECT_FALSE(config.contains("quantization_config")) << config.dump();
  }
}

TEST_P(PlanOfQuantized, WritesTheRequestedDtype) {
  const std::string model = data_path(std::string("quantized/") + GetParam());
  allowed_of_nll_ = 2e-2;  // the plan measures bfloat16-rounded weights
  for (const std::string dtype : {"F32", "F16"}) {
    const std::string err =
        expect_written_as_planned(model, 40, {"--set", "mlp=40"}, {"--dtype", dtype});
    EXPECT_TRUE(contains(err, "quantized weights were written as " + dtype)) << err;
    EXPECT_EQ(written_dtypes(/*all=*/true), std::set<std::string>{dtype});
    const json config = json::parse(read_file(path("out") + "/config.json"));
    EXPECT_FALSE(config.contains("quantization_config"));
    EXPECT_EQ(config["dtype"], dtype == "F32" ? "float32" : "float16");
  }
}

TEST_P(PlanOfQuantized, SupportsTheMethodsOfItsArchitecture) {
  EXPECT_EQ(compared_forms(data_path(std::string("quantized/") + GetParam()), 40),
            (std::set<std::string>{"mlp", "hidden-size", "head-dim", "kv-heads", "heads", "mla",
                                   "low-rank"}));
}

INSTANTIATE_TEST_SUITE_P(Files, PlanOfQuantized,
                         ::testing::Values("awq", "fp8-blocks", "gptq-4", "int8", "nf4-nested",
                                           "packed-4"),
                         [](const auto& file) {
                           std::string name = file.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

class PlanOfGguf : public PlanOfTokens {
 protected:
  /// A Llama of two layers whose matrices are all Q8_0: blocks of 32 bytes, each with a scale.
  std::string quantized_llama() const {
    constexpr std::uint64_t kWidth = 32, kMlp = 64, kVocabulary = 48;
    const auto number = [](const char* key, std::uint32_t value) {
      return gguf_pair(std::string("llama.") + key, gguf_u32, number_bytes(value));
    };
    const std::vector<std::string> values = {
        gguf_pair("general.architecture", gguf_string, gguf_text("llama")),
        number("block_count", 2),
        number("embedding_length", kWidth),
        number("feed_forward_length", kMlp),
        number("attention.head_count", 4),
        number("attention.head_count_kv", 2),
        number("context_length", 64),
        number("vocab_size", kVocabulary),
        gguf_pair("llama.attention.layer_norm_rms_epsilon", gguf_f32, number_bytes(1e-6F))};
    std::vector<std::string> entries;
    std::string data;
    std::mt19937 random(3);  // NOLINT: a fixed seed, so that the file is always the same
    const auto add_matrix = [&](const std::string& name, std::uint64_t inputs,
                                std::uint64_t outputs) {
      constexpr std::uint32_t kQ8 = 8;
      constexpr std::uint16_t kScale = 0x1c00;  // 2^-8 as float16
      entries.push_back(gguf_entry(name, {inputs, outputs}, kQ8, data.size()));
      for (std::uint64_t block = 0; block < inputs / 32 * outputs; ++block) {
        data += number_bytes(kScale);
        for (int at = 0; at < 32; ++at) data += static_cast<char>(random() % 255 - 127);
      }
      data.resize((data.size() + 31) / 32 * 32, '\0');
    };
    const auto add_norm = [&](const std::string& name) {
      entries.push_back(gguf_entry(name, {kWidth}, /*type=*/0, data.size()));
      for (std::uint64_t at = 0; at < kWidth; ++at) data += number_bytes(1.0F);
    };
    add_matrix("token_embd.weight", kWidth, kVocabulary);
    for (const std::string layer : {"blk.0.", "blk.1."}) {
      add_norm(layer + "attn_norm.weight");
      add_matrix(layer + "attn_q.weight", kWidth, kWidth);
      add_matrix(layer + "attn_k.weight", kWidth, kWidth / 2);
      add_matrix(layer + "attn_v.weight", kWidth, kWidth / 2);
      add_matrix(layer + "attn_output.weight", kWidth, kWidth);
      add_norm(layer + "ffn_norm.weight");
      add_matrix(layer + "ffn_gate.weight", kWidth, kMlp);
      add_matrix(layer + "ffn_up.weight", kWidth, kMlp);
      add_matrix(layer + "ffn_down.weight", kMlp, kWidth);
    }
    add_norm("output_norm.weight");
    add_matrix("output.weight", kWidth, kVocabulary);
    std::string bytes = gguf_bytes(values, entries, 0);
    return scratch_.write("llama.gguf", bytes + data).string();
  }
};

TEST_F(PlanOfGguf, QuantizedWeightsGiveAPlainModelWithANote) {
  const std::string model = quantized_llama();
  EXPECT_EQ(compared_forms(model, 48),
            (std::set<std::string>{"depth", "mlp", "hidden-size", "head-dim", "kv-heads", "heads",
                                   "mla", "low-rank"}));
  allowed_of_nll_ = 2e-3;  // as for other quantized formats
  for (const char* set : {"remove-layers=0", "mlp=40", "hidden-size=24", "kv-heads=1", "mla=8+8"}) {
    const std::string err = expect_written_as_planned(model, 48, {"--set", set});
    EXPECT_TRUE(contains(err, "quantized weights were written as BF16")) << err;
    EXPECT_EQ(written_dtypes(), std::set<std::string>{"BF16"});
  }
  allowed_of_nll_ = 2e-2;  // the plan measures bfloat16-rounded weights
  const std::string err =
      expect_written_as_planned(model, 48, {"--set", "mlp=40"}, {"--dtype", "F32"});
  EXPECT_TRUE(contains(err, "quantized weights were written as F32")) << err;
  EXPECT_EQ(written_dtypes(/*all=*/true), std::set<std::string>{"F32"});
}

TEST_F(PlanOfGguf, PlainWeightsKeepTheirDtype) {
  for (const char* name : {"llama.f16.gguf", "gpt2.f32.gguf", "gemma.f16.gguf", "qwen2.f16.gguf"}) {
    const std::string model =
        scratch_.write(name, read_file(data_path(std::string("gguf/") + name))).string();
    const std::string err =
        expect_written_as_planned(model, 32, {"--method", "mlp", "--keep", "0.9"});
    EXPECT_FALSE(contains(err, "quantized weights")) << err;
    EXPECT_FALSE(written_dtypes(/*all=*/true).contains("BF16")) << name;
    EXPECT_FALSE(contains(read_file(path("out") + "/config.json"), "quantization_config"));
  }
}

TEST_F(PlanOfTokens, ReportsAMethodWithoutASmallerSize) {
  const RunResult run =
      run_attnscope(on_tokens({"plan", data_path("forward/dots1"), "--method", "experts"}, 48));
  EXPECT_EQ(run.exit_code, 6) << run.err;
  EXPECT_TRUE(contains(run.err, "experts cannot make this model smaller")) << run.err;
}

/// Repositories of pipelines contain a `tokenizer` folder.
TEST_F(PlanOfTokens, IgnoresATokenizerFolderNextToTheWeights) {
  for (const char* file : {"config.json", "model.safetensors"}) {
    scratch_.write(std::string("model/") + file, read_file(tiny_model("llama") + "/" + file));
  }
  scratch_.write("model/tokenizer/vocab.json", "{}");
  scratch_.write("model/vocab.txt", "a\n");
  expect_written_as_planned(path("model"), 48, {"--set", "mlp=20"});
  EXPECT_EQ(files_in(path("out")),
            (Words{"README.md", "config.json", "model.safetensors", "vocab.txt"}));
}

}  // namespace
}  // namespace attnscope::test
