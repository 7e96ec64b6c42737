// One trained model in the formats of transformers, llama.cpp and llama2.c: every command reports
// the same for each. Also errors for unusable GGUF files.
#include <map>

#include "attnscope/checkpoint/checkpoint.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/program.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

std::string stories(const std::string& file = "") {
  return source_path("../shared/models/stories260K" + (file.empty() ? "" : "/" + file));
}

/// Rows without the model's name, because the name comes from the file name.
json rows_of(Words arguments, const std::string& model) {
  arguments.insert(arguments.begin() + 1, model);
  json rows = report_of(arguments)["rows"];
  for (json& row : rows) row.erase("model");
  return rows;
}

class OtherForms : public testing::TestWithParam<const char*> {};

TEST_P(OtherForms, GiveTheSameRowsInEveryCommand) {
  if (!fs::exists(stories())) GTEST_SKIP() << "no " << stories();
  const Words commands[] = {{"spectrum", "--per-head"},
                            {"circuits"},
                            {"circuits", "--fold-norm"},
                            {"weights"},
                            {"similarity"},
                            {"attention", "--text", "Once upon a time there was a little dog."},
                            {"predict", "--text", "Once upon a time", "--generate", "12"},
                            {"predict", "--text", "The cat sat on the mat.", "--perplexity"}};
  for (const Words& command : commands) {
    SCOPED_TRACE(testing::PrintToString(command));
    const json wanted = rows_of(command, stories());
    ASSERT_FALSE(wanted.empty());
    EXPECT_EQ(rows_of(command, stories(GetParam())), wanted);
  }
}

TEST_P(OtherForms, ListTheSameTensors) {
  if (!fs::exists(stories())) GTEST_SKIP() << "no " << stories();
  const auto tensors_of = [](const std::string& path) {
    std::map<std::string, json> tensors;
    const json report = report_of({"info", path});
    for (json tensor : report["rows"]) {
      tensor.erase("model");
      tensors.emplace(tensor["name"], tensor);
    }
    return tensors;
  };
  EXPECT_EQ(tensors_of(stories(GetParam())), tensors_of(stories()));
}

INSTANTIATE_TEST_SUITE_P(Stories260K, OtherForms,
                         testing::Values("stories260K.gguf", "stories260K.bin",
                                         "stories260K_v1.bin"),
                         [](const auto& file) {
                           std::string name = file.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

std::string arch(std::string_view name) {
  return gguf_pair("general.architecture", gguf_string, gguf_text(name));
}

std::string whole(std::string_view key, std::uint32_t value) {
  return gguf_pair(key, gguf_u32, number_bytes(value));
}

/// Valid GGUF files without a supported model. Each gives a one-line error.
TEST(CliGguf, ReportsErrorsInOneLine) {
  const auto llama =
      [](std::uint32_t heads, std::vector<std::string> more = {},
         std::vector<std::string> entries = {gguf_entry("token_embd.weight", {8, 4}, 0, 0)}) {
        std::vector<std::string> values = {
            arch("llama"), whole("llama.attention.head_count", heads),
            whole("llama.embedding_length", 8), whole("llama.block_count", 1)};
        values.insert(values.end(), more.begin(), more.end());
        return gguf_bytes(values, entries, 1024);
      };
  const struct {
    std::string fault, file, said;
  } files[] = {
      {"no number of heads", gguf_bytes({arch("llama")}, {}, 0),
       "has no 'llama.attention.head_count'"},
      {"no heads", llama(0), "has no 'llama.attention.head_count'"},
      {"heads that differ",
       gguf_bytes({arch("llama"), gguf_pair("llama.attention.head_count", gguf_array,
                                            gguf_array_of(gguf_u8, 2, "\1\2"))},
                  {}, 0),
       "layers differ in 'llama.attention.head_count', which is not supported"},
      {"keys and values of other sizes",
       llama(2, {whole("llama.attention.key_length", 4), whole("llama.attention.value_length", 2)}),
       "values of 2 dimensions with keys of 4 are not supported"},
      {"no embedding", llama(2, {}, {}), "has no embedding 'token_embd.weight' of two dimensions"},
      {"rows that no heads share",
       llama(3, {},
             {gguf_entry("token_embd.weight", {8, 4}, 0, 0),
              gguf_entry("blk.0.attn_q.weight", {8, 8}, 0, 128)}),
       "tensor 'blk.0.attn_q.weight': 8 rows cannot be divided evenly among 3 heads"},
      {"divisors that are no numbers",
       llama(2, {},
             {gguf_entry("token_embd.weight", {8, 4}, 0, 0),
              gguf_entry("rope_freqs.weight", {4}, 24, 128)}),
       "tensor 'rope_freqs.weight': is not a short list of F32 numbers"},
      {"a part by another name", llama(2, {whole("split.count", 3)}),
       "is part of 3 files, but its name does not specify which"},
      {"a text for a number",
       llama(2, {gguf_pair("llama.context_length", gguf_string, gguf_text("2k"))}),
       "the value of 'llama.context_length' is not a non-negative integer"},
  };
  const TempFolder folder;
  for (const auto& [fault, bytes, said] : files) {
    SCOPED_TRACE(fault);
    const fs::path path = folder.write("model.gguf", bytes);
    const RunResult result = run_attnscope({"info", path.string()});
    EXPECT_NE(result.exit_code, 0);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_NE(result.err.find(path.string()), std::string::npos) << result.err;
    EXPECT_NE(result.err.find(said), std::string::npos) << result.err;
  }
}

/// Counts of experts, heads and draft layers that contradict the tensors or each other.
TEST(CliGguf, RejectsInconsistentCounts) {
  const auto text = [](const char* key, const char* value) {
    return gguf_pair(key, gguf_string, gguf_text(value));
  };
  const auto model = [&](const std::string& name, std::vector<std::string> more,
                         std::vector<std::string> entries, std::uint32_t layers = 1) {
    std::vector<std::string> values = {arch(name), whole(name + ".attention.head_count", 2),
                                       whole(name + ".embedding_length", 8),
                                       whole(name + ".block_count", layers)};
    values.insert(values.end(), more.begin(), more.end());
    entries.insert(entries.begin(), gguf_entry("token_embd.weight", {8, 4}, 0, 0));
    return gguf_bytes(values, entries, 4096);
  };
  const auto latent = [&](std::vector<std::string> more, std::vector<std::string> entries = {}) {
    more.insert(more.end(), {whole("deepseek2.attention.key_length_mla", 6),
                             whole("deepseek2.attention.value_length_mla", 4)});
    return model("deepseek2", std::move(more), std::move(entries));
  };
  const auto rotary = whole("deepseek2.rope.dimension_count", 2);
  const auto windows = [](const std::string& items) {
    return gguf_pair("exaone4.attention.sliding_window_pattern", gguf_array,
                     gguf_array_of(gguf_bool, items.size(), items));
  };
  const auto kv_heads = [](const std::string& name, const std::string& items) {
    return gguf_pair(name + ".attention.head_count_kv", gguf_array,
                     gguf_array_of(gguf_u8, items.size(), items));
  };
  const struct {
    std::string fault, file, said;
  } files[] = {
      {"more experts than there are",
       model("qwen3moe", {whole("qwen3moe.expert_count", 1'000'000'000)},
             {gguf_entry("blk.0.ffn_up_exps.weight", {8, 4, 3}, 0, 128)}),
       "tensor 'blk.0.ffn_up_exps.weight': has 3 experts, but the file specifies 1000000000"},
      {"experts of nothing",
       model("qwen3moe", {whole("qwen3moe.expert_count", 3)},
             {gguf_entry("blk.0.ffn_up_exps.weight", {0, 4, 1'000'000'000}, 0, 128)}),
       "tensor 'blk.0.ffn_up_exps.weight': shape [1000000000, 4, 0] contains no stacked tensors"},
      {"one expert only",
       model("qwen3moe", {}, {gguf_entry("blk.0.ffn_up_exps.weight", {8}, 0, 128)}),
       "tensor 'blk.0.ffn_up_exps.weight': shape [8] contains no stacked tensors"},
      {"a text for a count", model("qwen3moe", {text("qwen3moe.expert_count", "8")}, {}),
       "the value of 'qwen3moe.expert_count' is not a non-negative integer"},
      {"draft layers only", model("glm4moe", {whole("glm4moe.nextn_predict_layers", 1)}, {}),
       "specifies that 1 layer of 1 draft future tokens"},
      {"no size of keys", model("deepseek2", {rotary}, {}),
       "has no 'deepseek2.attention.key_length'"},
      {"keys that rotate whole", latent({whole("deepseek2.rope.dimension_count", 6)}),
       "keys of 6 dimensions leave no dimensions without RoPE next to 6 rotary dimensions"},
      {"no size of what rotates", latent({}), "has no 'deepseek2.rope.dimension_count'"},
      {"heads that do not fit",
       latent({rotary}, {gguf_entry("blk.0.attn_k_b.weight", {4, 3, 5}, 0, 128),
                         gguf_entry("blk.0.attn_v_b.weight", {3, 4, 5}, 0, 384)}),
       "tensor 'blk.0.attn_k_b.weight': has 5 heads, but the file specifies 2"},
      {"latents that differ",
       latent({rotary}, {gguf_entry("blk.0.attn_k_b.weight", {4, 3, 2}, 0, 128),
                         gguf_entry("blk.0.attn_v_b.weight", {2, 4, 2}, 0, 384)}),
       "'blk.0.attn_v_b.weight', [2, 3, 4] and [2, 4, 2], differ in columns"},
      {"rows that no kv heads share",
       model("falcon", {whole("falcon.attention.head_count_kv", 3)},
             {gguf_entry("blk.0.attn_qkv.weight", {8, 8}, 0, 128)}),
       "tensor 'blk.0.attn_qkv.weight': 8 rows cannot be divided evenly among 2 heads and 3 kv "
       "heads"},
      {"too few kinds of layers",
       model("exaone4", {whole("exaone4.attention.sliding_window", 4), windows("")}, {}),
       "'exaone4.attention.sliding_window_pattern' lists 0 of 1 layer"},
      {"layers that all do not attend", model("lfm2", {kv_heads("lfm2", "")}, {}),
       "has no 'lfm2.attention.head_count_kv'"},
      {"kv heads of no layer past the first", model("lfm2", {kv_heads("lfm2", "\2")}, {}, 3),
       "'lfm2.attention.head_count_kv' lists 1 of 3 layers"},
      {"layers with other kv heads", model("lfm2", {kv_heads("lfm2", "\2\1")}, {}, 2),
       "layers differ in 'lfm2.attention.head_count_kv', which is not supported"},
      {"no kv heads", model("granitemoe", {whole("granitemoe.attention.head_count_kv", 0)}, {}),
       "has no 'granitemoe.attention.head_count_kv'"},
  };
  const TempFolder folder;
  for (const auto& [fault, bytes, said] : files) {
    SCOPED_TRACE(fault);
    const fs::path path = folder.write("model.gguf", bytes);
    const RunResult result = run_attnscope({"info", path.string()});
    EXPECT_NE(result.exit_code, 0);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_NE(result.err.find(path.string()), std::string::npos) << result.err;
    EXPECT_NE(result.err.find(said), std::string::npos) << result.err;
  }
}

TEST(CliGguf, ReportsBidirectionalAttention) {
  const TempFolder folder;
  for (const bool causal : {false, true}) {
    const fs::path path = folder.write(
        "model.gguf", gguf_bytes({arch("llama"), whole("llama.attention.head_count", 2),
                                  whole("llama.embedding_length", 8), whole("llama.block_count", 1),
                                  gguf_pair("llama.attention.causal", gguf_bool,
                                            causal ? "\1" : std::string(1, '\0'))},
                                 {gguf_entry("token_embd.weight", {8, 4}, 0, 0)}, 1024));
    const json config = json::parse(*Checkpoint::open(path).config());
    EXPECT_EQ(config.value("is_causal", true), causal);
  }
}

TEST(CliGguf, NeedsAllPartsOfASplitFile) {
  const TempFolder folder;
  for (const char* part : {"split-00001-of-00004.gguf", "split-00002-of-00004.gguf"}) {
    folder.write(part, read_file(data_path(std::string("gguf/") + part)));
  }
  const RunResult result = run_attnscope({"info", folder.path().string()});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.err.find("split-00003-of-00004.gguf: cannot open"), std::string::npos)
      << result.err;
}

/// Values of one tensor of an unknown architecture.
TEST(CliGguf, ReadsSingleTensorsOfUnknownArchitectures) {
  const json report =
      report_of({"spectrum", data_path("gguf/types.gguf"), "--tensor", "BF16", "--quiet"});
  ASSERT_EQ(report["rows"].size(), 1u);
  EXPECT_EQ(report["rows"][0]["max_possible_rank"], 3);
}

}  // namespace
}  // namespace attnscope::test
