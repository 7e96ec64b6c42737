// `spectrum --mla`, `--rank` and `--matrix kv`: the energy that a smaller KV cache would keep.
#include <cstring>

#include "tests/support/program.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

/// A checkpoint with one W_Q, W_K and W_V, described by a layout file.
struct MlaAttention {
  std::int64_t heads = 2, kv_heads = 2, head_dim = 4, value_dim = 4, width = 16;
  std::vector<TensorToWrite> tensors;

  Words write(const TempFolder& folder) const {
    json layout = {{"schema", "attnscope-layout/1"},
                   {"layers", 1},
                   {"heads", heads},
                   {"kv_heads", kv_heads},
                   {"head_dim", head_dim},
                   {"value_dim", value_dim},
                   {"hidden_size", width},
                   {"weights", json::array()}};
    for (const char* role : {"q", "k", "v"}) {
      layout["weights"].push_back({{"role", role}, {"tensor", role}});
    }
    const std::string described = folder.write("layout.json", layout.dump()).string();
    const std::string weights = folder.write("a.safetensors", safetensors_bytes(tensors)).string();
    return {weights, "--layout", described};
  }
};

/// Rows of a `matrix` report as vectors.
std::vector<std::vector<double>> matrix_of(const Words& arguments) {
  std::vector<std::vector<double>> rows;
  const json report = report_of(Words{"matrix"} + arguments);
  for (const json& row : report["rows"]) {
    rows.push_back(row["values"].get<std::vector<double>>());
  }
  return rows;
}

TEST(CliStacked, IsTheRowsOfKThenTheRowsOfV) {
  const std::string llama = data_path("llama");
  const auto part = [&](const char* matrix, const Words& head = {}) {
    return matrix_of(Words{llama, "--layer", "1", "--matrix", matrix} + head);
  };
  auto expected = part("k");
  const auto values = part("v");
  expected.insert(expected.end(), values.begin(), values.end());
  EXPECT_EQ(part("kv"), expected);

  for (const char* head : {"0", "1"}) {
    auto of_head = part("k", {"--head", head});
    const auto own = part("v", {"--head", head});
    of_head.insert(of_head.end(), own.begin(), own.end());
    EXPECT_EQ(part("kv", {"--head", head}), of_head);
  }
}

TEST(CliStacked, SupportsValuesOfAnotherSize) {
  const TempFolder folder;
  MlaAttention model{.head_dim = 3, .value_dim = 5};
  model.tensors = {random_tensor("q", {6, 16}, 1), random_tensor("k", {6, 16}, 2),
                   random_tensor("v", {10, 16}, 3)};
  const Words path = model.write(folder);
  const auto whole = matrix_of(path + Words{"--layer", "0", "--matrix", "kv"});
  const auto second = matrix_of(path + Words{"--layer", "0", "--matrix", "kv", "--head", "1"});
  ASSERT_EQ(whole.size(), 16u);
  ASSERT_EQ(second.size(), 8u);
  for (std::size_t row = 0; row < 8; ++row) {
    EXPECT_EQ(second[row], whole[row < 3 ? 3 + row : 6 + 5 + row - 3]);
  }
  const json rows = report_of(Words{"spectrum", "--matrix", "kv", "--per-head"} + path)["rows"];
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0]["shape"], (json{16, 16}));
  EXPECT_EQ(rows[2]["shape"], (json{8, 16}));
}

TEST(CliStacked, IsIncludedOnlyOnRequest) {
  const json report = report_of({"spectrum", data_path("llama")});
  for (const json& row : report["rows"]) {
    EXPECT_NE(row["matrix"], "kv");
  }
}

TEST(CliStacked, IsSkippedIfEitherMatrixHasNan) {
  const TempFolder folder;
  TinyLlama model(1);
  for (TensorToWrite& tensor : model.tensors) {
    if (contains(tensor.name, "v_proj")) set_element(tensor, 0, 0, std::nanf(""));
  }
  const json report =
      report_of({"spectrum", model.write(folder, "broken"), "--matrix", "k,kv", "--per-head"});
  ASSERT_EQ(report["skipped"].size(), 2u);  // the whole matrix and the head of the row
  EXPECT_EQ(report["skipped"][0]["matrix"], "kv");
  EXPECT_TRUE(report["skipped"][0]["head"].is_null());
  EXPECT_EQ(report["skipped"][1]["head"], 0);
  EXPECT_EQ(report["rows"].size(), 3u + 1u);
}

TEST(CliStacked, IsFloat64IfEitherMatrixIs) {
  const TempFolder folder;
  MlaAttention model;
  model.tensors = {random_tensor("q", {8, 16}, 1), random_tensor("k", {8, 16}, 2)};
  TensorToWrite value = zero_tensor("v", "F64", 64, {8, 16});
  const double fine = 1 + 0x1p-40;
  std::memcpy(value.bytes.data(), &fine, sizeof fine);
  model.tensors.push_back(value);
  const auto whole = matrix_of(model.write(folder) + Words{"--layer", "0", "--matrix", "kv"});
  EXPECT_EQ(whole[8][0], fine);
}

TEST(CliRank, ReadsTheKeptEnergyFromTheCumulativeEnergy) {
  const json report = report_of({"spectrum", data_path("gpt2"), "--matrix", "q,qk,kv", "--per-head",
                                 "--values", "--rank", "3,0.1D,0.25D,400"});
  EXPECT_EQ(report["parameters"]["rank"], (json{"3", "0.1D", "0.25D", "400"}));
  for (const json& row : report["rows"]) {
    const std::vector<double> cumulative = row["cumulative_energy"];
    const auto at = [&](std::size_t rank) {
      return rank >= cumulative.size() ? 1.0 : cumulative[rank - 1];
    };
    const json& kept = row["energy_at_rank"];
    EXPECT_EQ(keys_of(kept), sorted({"3", "0.1D", "0.25D", "400"}));
    EXPECT_DOUBLE_EQ(kept["3"].get<double>(), at(3));
    EXPECT_DOUBLE_EQ(kept["0.1D"].get<double>(), at(3));  // 3.2 of a hidden size of 32
    EXPECT_DOUBLE_EQ(kept["0.25D"].get<double>(), at(8));
    EXPECT_EQ(kept["400"], 1);
    EXPECT_EQ(keys_of(row["random_energy_at_rank"]), keys_of(kept));
    EXPECT_EQ(row["random_energy_at_rank"]["400"], 1);
    EXPECT_LT(row["random_energy_at_rank"]["3"], kept["3"]);
  }
}

TEST(CliRank, IsAtLeastOneAndAtMostAll) {
  const json rows = report_of({"spectrum", data_path("llama"), "--layers", "0", "--matrix", "q",
                               "--values", "--rank", "0.0001D,1D,1"})["rows"];
  EXPECT_EQ(rows[0]["energy_at_rank"]["0.0001D"], rows[0]["energy_at_rank"]["1"]);
  EXPECT_EQ(rows[0]["energy_at_rank"]["1D"], 1);
}

TEST(CliRank, AcceptsANumberForASingleTensor) {
  const json row = report_of(
      {"spectrum", data_path("llama"), "--tensor", "lm_head.weight", "--rank", "4,64"})["rows"][0];
  EXPECT_GT(row["energy_at_rank"]["4"], 0);
  EXPECT_EQ(row["energy_at_rank"]["64"], 1);
  EXPECT_TRUE(row.contains("random_energy_rank"));
}

TEST(CliMla, EqualsTheSpectra) {
  const std::string path = data_path("llama");
  const json report = report_of({"spectrum", path, "--mla"});
  EXPECT_EQ(report["command"], "spectrum");
  EXPECT_EQ(report["parameters"]["mla"], true);
  // 0.3 and 0.1 of a hidden size of 32 are 9.6 and 3.2.
  const json spectra = report_of({"spectrum", path, "--matrix", "q,kv", "--rank", "1536,512,10,3"});
  ASSERT_EQ(report["rows"].size(), 2u);
  for (const json& row : report["rows"]) {
    EXPECT_EQ(keys_of(row), sorted({"model", "layer", "query", "kv"}));
    const struct {
      const char* half;
      const char* matrix;
      const char* rank;
      const char* share_rank;
    } halves[] = {{"query", "q", "1536", "10"}, {"kv", "kv", "512", "3"}};
    for (const auto& half : halves) {
      const json& got = row[half.half];
      const json whole = find_row(spectra["rows"], row["layer"], half.matrix, nullptr);
      EXPECT_EQ(got["rank"].dump(), half.rank);
      EXPECT_EQ(got["share_rank"].dump(), half.share_rank);
      EXPECT_EQ(got["energy"], whole["energy_at_rank"][half.rank]);
      EXPECT_EQ(got["share_energy"], whole["energy_at_rank"][half.share_rank]);
      EXPECT_EQ(got["random_energy"], whole["random_energy_at_rank"][half.rank]);
      EXPECT_EQ(got["share_random_energy"], whole["random_energy_at_rank"][half.share_rank]);
      EXPECT_EQ(got["energy_rank"], whole["energy_rank"]);
      EXPECT_EQ(got["random_energy_rank"], whole["random_energy_rank"]);
      EXPECT_EQ(got["max_possible_rank"], whole["max_possible_rank"]);
    }
  }
}

TEST(CliMla, ReportsTheCacheSizeBeforeAndAfter) {
  const json report = report_of({"spectrum", data_path("llama"), data_path("bert"), "--mla"});
  const json& llama = report["models"][0];
  EXPECT_EQ(llama["kv_cache_bytes_per_token"], 2 * 2 * 2 * (8 + 8));
  EXPECT_EQ(llama["mla_cache"],
            (json{{"latent", 512}, {"rope", 64}, {"bytes_per_token", 2 * 2 * (512 + 64)}}));
  // 512 and 64 of 5120 are 3.2 and 0.4 of 32. The minimum is 1.
  EXPECT_EQ(llama["mla_cache_at_share"],
            (json{{"latent", 3}, {"rope", 1}, {"bytes_per_token", 2 * 2 * (3 + 1)}}));
  EXPECT_TRUE(report["models"][1]["mla_cache"]["bytes_per_token"].is_null());  // an encoder
  EXPECT_TRUE(report["models"][1]["mla_cache_at_share"]["bytes_per_token"].is_null());
  const std::string table = output_of({"spectrum", data_path("bert"), "--mla"});
  EXPECT_TRUE(contains(table, "none (bidirectional attention)")) << table;
}

TEST(CliMla, SupportsLayersAndThresholds) {
  const json report =
      report_of({"spectrum", data_path("qwen2"), "--mla", "--layers", "-1", "--energy", "0.5"});
  ASSERT_EQ(report["rows"].size(), 1u);
  EXPECT_EQ(report["rows"][0]["layer"], 1);
  EXPECT_EQ(keys_of(report["rows"][0]["kv"]["energy_rank"]), Words{"0.5"});
}

TEST(CliMla, HalfOfALayerMayBeSkipped) {
  const TempFolder folder;
  TinyLlama model(2);
  for (TensorToWrite& tensor : model.tensors) {
    if (tensor.name == "model.layers.1.self_attn.k_proj.weight") {
      set_element(tensor, 0, 0, std::nanf(""));
    }
  }
  const Words command = {"spectrum", model.write(folder, "broken"), "--mla"};
  const json report = report_of(command);
  ASSERT_EQ(report["skipped"].size(), 1u);
  EXPECT_EQ(report["skipped"][0]["matrix"], "kv");
  ASSERT_EQ(report["rows"].size(), 2u);
  EXPECT_TRUE(report["rows"][1]["kv"].is_null());
  EXPECT_FALSE(report["rows"][1]["query"].is_null());
  EXPECT_TRUE(contains(output_of(command), "skipped: broken: kv of layer 1"));
}

TEST(CliMla, AZeroMatrixHasNoEnergyShare) {
  const TempFolder folder;
  MlaAttention model;
  model.tensors = {zero_tensor("q", "F32", 32, {8, 16}), random_tensor("k", {8, 16}, 2),
                   random_tensor("v", {8, 16}, 3)};
  const Words command = Words{"spectrum", "--mla"} + model.write(folder);
  const json row = report_of(command)["rows"][0];
  EXPECT_TRUE(row["query"]["energy"].is_null());
  EXPECT_EQ(row["query"]["energy_rank"]["0.9"], 0);
  EXPECT_GT(row["query"]["random_energy_rank"]["0.9"], 0);
  EXPECT_FALSE(output_of(command).empty());
}

TEST(CliMla, ThreadsDoNotChangeTheOutput) {
  const Words command = {"spectrum", data_path("llama"), data_path("albert"),
                         "--mla",    "--format",         "json"};
  EXPECT_EQ(output_of(command + Words{"--threads", "1"}),
            output_of(command + Words{"--threads", "5"}));
}

}  // namespace
}  // namespace attnscope::test
