// `spectrum` and `circuits` of multi-head latent attention (MLA), compared with tests/golden/mla:
// float64 NumPy on products of the stored tensors, head by head (tools/golden_mla.py).
#include <algorithm>
#include <cmath>

#include "tests/support/program.h"

namespace attnscope::test {
namespace {

/// Rounding of printed digits, and of sums over some hundred float64 products.
constexpr double kMlaTolerance = 1e-9;
/// RoPE frequencies are float32, with a relative error of 6e-8 that grows over 3 tokens.
constexpr double kMlaRotationTolerance = 1e-6;
/// The latents are float32 in both runs. Their means are more precise.
constexpr double kMlaRunTolerance = 1e-6;

class MlaGolden : public testing::TestWithParam<const char*> {
 protected:
  const std::string folder_ = data_path(std::string("forward/") + GetParam());
  const json golden_ =
      json::parse(read_file(source_path(std::string("tests/golden/mla/") + GetParam() + ".json")));
};

/// Values of one matrix per layer: first of the whole matrix, then of each head.
void expect_spectra(const json& rows, const json& golden, const std::string& matrix,
                    double tolerance) {
  ASSERT_EQ(rows.size(), golden.size() * golden[0][matrix].size());
  for (const json& row : rows) {
    const std::size_t at = row["head"].is_null() ? 0 : row["head"].get<std::size_t>() + 1;
    const auto wanted =
        golden[row["layer"].get<std::size_t>()][matrix][at].get<std::vector<double>>();
    const auto got = row["singular_values"].get<std::vector<double>>();
    ASSERT_EQ(got.size(), wanted.size()) << row["head"];
    EXPECT_EQ(row["max_possible_rank"], wanted.size());
    for (std::size_t value = 0; value < got.size(); ++value) {
      EXPECT_NEAR(got[value], wanted[value], tolerance * wanted[0]) << row["head"];
    }
  }
}

void expect_circuits(const json& rows, const json& wanted, double tolerance) {
  ASSERT_EQ(rows.size(), wanted.size());
  std::size_t found = 0;
  for (const json& row : rows) {
    for (const json& other : wanted) {
      if (row["layer"] != other["layer"] || row["circuit"] != other["circuit"] ||
          row["head"] != other["head"]) {
        continue;
      }
      ++found;
      for (const auto& [measure, value] : other.items()) {
        if (measure == "layer" || measure == "circuit" || measure == "head") continue;
        EXPECT_NEAR(row[measure].get<double>(), value.get<double>(),
                    tolerance * std::max(1.0, std::abs(value.get<double>())))
            << measure << " " << row["circuit"] << " " << row["head"];
      }
    }
  }
  EXPECT_EQ(found, wanted.size());
}

TEST_P(MlaGolden, SpectraEqualThoseOfProductsPerHead) {
  for (const auto& [matrix, first] : golden_["spectra"][0].items()) {
    SCOPED_TRACE(matrix);
    const json report =
        report_of({"spectrum", folder_, "--matrix", matrix, "--per-head", "--values", "--quiet"});
    expect_spectra(report["rows"], golden_["spectra"], matrix, kMlaTolerance);
  }
}

TEST_P(MlaGolden, CircuitsEqualThoseOfProductsInEveryVariant) {
  const struct {
    const char* name;
    Words options;
    double tolerance;
  } variants[] = {{"plain", {}, kMlaTolerance},
                  {"fold", {"--fold-norm"}, kMlaTolerance},
                  {"offset", {"--rope-offset", "-3"}, kMlaRotationTolerance},
                  {"fold-offset", {"--fold-norm", "--rope-offset", "-3"}, kMlaRotationTolerance}};
  for (const auto& [name, options, tolerance] : variants) {
    SCOPED_TRACE(name);
    const json report = report_of(Words{"circuits", folder_, "--quiet"} + options);
    expect_circuits(report["rows"], golden_["circuits"][name], tolerance);
  }
}

// On a text, the RMS of each latent equals the one recorded by hooks on transformers' modules.
TEST_P(MlaGolden, UsesTheMeanRmsOfLatentsOnAText) {
  const json& golden = golden_["on_text"];
  std::string tokens;
  for (const json& token : golden["tokens"]) {
    tokens += (tokens.empty() ? "" : ",") + token.dump();
  }
  const Words text = {"--tokens", tokens, "--quiet"};
  const auto expect_rms = [&](const json& row, const std::vector<const char*>& latents) {
    const json& wanted = golden["latent_rms"][row["layer"].get<std::size_t>()];
    std::size_t there = 0;
    for (const char* latent : latents) {
      if (!wanted.contains(latent)) continue;
      ++there;
      EXPECT_NEAR(row["latent_rms"][latent].get<double>(), wanted[latent].get<double>(),
                  kMlaRunTolerance * wanted[latent].get<double>());
    }
    EXPECT_EQ(row["latent_rms"].size(), there);
  };
  for (const auto& [matrix, first] : golden["spectra"][0].items()) {
    SCOPED_TRACE(matrix);
    const json report =
        report_of(Words{"spectrum", folder_, "--matrix", matrix, "--per-head", "--values"} + text);
    expect_spectra(report["rows"], golden["spectra"], matrix, kMlaRunTolerance);
    for (const json& row : report["rows"]) {
      expect_rms(row, matrix == "qk" ? std::vector{"q", "kv"} : std::vector{"kv"});
    }
  }
  const json report =
      report_of(Words{"circuits", folder_, "--fold-norm", "--rope-offset", "-3"} + text);
  expect_circuits(report["rows"], golden["circuits"], kMlaRotationTolerance);
  for (const json& row : report["rows"]) {
    expect_rms(row, row["circuit"] == "qk" ? std::vector{"q", "kv"} : std::vector{"kv"});
  }
}

TEST_P(MlaGolden, NotesTheAssumedRmsOfLatents) {
  for (const char* command : {"spectrum", "circuits"}) {
    EXPECT_TRUE(contains(run_attnscope({command, folder_}).err, "the RMS for white input"))
        << command;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, MlaGolden,
                         testing::Values("deepseek_v3", "deepseek_v2-no-latent", "minicpm3"),
                         [](const testing::TestParamInfo<const char*>& name) {
                           std::string text = name.param;
                           std::replace(text.begin(), text.end(), '-', '_');
                           return text;
                         });

/// Rows of a `matrix` report as vectors.
std::vector<std::vector<double>> rows_of_matrix(const Words& arguments) {
  std::vector<std::vector<double>> rows;
  const json report = report_of(Words{"matrix", data_path("forward/deepseek_v3")} + arguments);
  for (const json& row : report["rows"]) {
    rows.push_back(row["values"].get<std::vector<double>>());
  }
  return rows;
}

// Heads have 6 NoPE dimensions, 4 rotary dimensions shared by all heads, and 5 value dimensions.
TEST(MlaMatrix, SharedRowsAppearOnceInTheWholeAndInEveryHead) {
  const auto whole = rows_of_matrix({"--layer", "0", "--matrix", "k"});
  ASSERT_EQ(whole.size(), 4 * 6 + 4);
  for (std::size_t head = 0; head < 4; ++head) {
    const auto own =
        rows_of_matrix({"--layer", "0", "--matrix", "k", "--head", std::to_string(head)});
    ASSERT_EQ(own.size(), 10);
    for (std::size_t row = 0; row < 10; ++row) {
      const auto& wanted = whole[row < 6 ? head * 6 + row : 4 * 6 + row - 6];
      for (std::size_t col = 0; col < wanted.size(); ++col) {
        EXPECT_NEAR(own[row][col], wanted[col], 1e-12) << head << " " << row;
      }
    }
  }
  EXPECT_EQ(rows_of_matrix({"--layer", "0", "--matrix", "kv"}).size(), 4 * 6 + 4 + 4 * 5);
  EXPECT_EQ(rows_of_matrix({"--layer", "0", "--matrix", "kv", "--head", "1"}).size(), 15);
}

TEST(MlaMatrix, ASmallerCacheIsComparedWithTheOriginal) {
  const json report = report_of({"spectrum", data_path("forward/deepseek_v3"), "--mla"});
  for (const json& row : report["rows"]) {
    EXPECT_EQ(row["query"]["rank"], 10);
    EXPECT_NEAR(row["query"]["energy"].get<double>(), 1, 1e-12);
    EXPECT_EQ(row["kv"]["rank"], 8);
    EXPECT_EQ(row["kv"]["max_possible_rank"], 8 + 4);
  }
  const json& model = report["models"][0];
  EXPECT_EQ(model["kv_cache_bytes_per_token"], 2 * 2 * (8 + 4));
  EXPECT_EQ(model["q_lora_rank"], 10);
  EXPECT_EQ(model["kv_lora_rank"], 8);
  EXPECT_EQ(model["qk_rope_head_dim"], 4);
  EXPECT_EQ(model["mha_kv_cache_bytes_per_token"], 2 * 2 * 4 * (10 + 5));
  EXPECT_EQ(model["mla_cache"], json({{"latent", 8}, {"rope", 4}, {"bytes_per_token", 48}}));
}

TEST(MlaMatrix, ALayoutFileEqualsTheConfig) {
  const std::string attention = "layers.{layer}.self_attn.", mlp = "layers.{layer}.mlp.";
  json weights = json::array();
  const auto add = [&](const char* role, const std::string& tensor) {
    weights.push_back({{"role", role}, {"tensor", tensor + ".weight"}});
  };
  add("q_a", attention + "q_a_proj");
  add("q_b", attention + "q_b_proj");
  add("kv_a", attention + "kv_a_proj_with_mqa");
  add("kv_b", attention + "kv_b_proj");
  add("o", attention + "o_proj");
  add("gate", mlp + "gate_proj");
  add("up", mlp + "up_proj");
  add("down", mlp + "down_proj");
  const json layout = {{"schema", "attnscope-layout/1"},
                       {"prefix", "model."},
                       {"layers", 2},
                       {"hidden_size", 24},
                       {"heads", 4},
                       {"head_dim", 10},
                       {"value_dim", 5},
                       {"intermediate_size", 40},
                       {"latent",
                        {{"q_lora_rank", 10},
                         {"kv_lora_rank", 8},
                         {"rotary_dim", 4},
                         {"query_norm", attention + "q_a_layernorm"},
                         {"norm", attention + "kv_a_layernorm"}}},
                       {"weights", weights},
                       {"embedding", "embed_tokens.weight"},
                       {"lm_head", "lm_head.weight"},
                       {"norms",
                        {{"kind", "rms"},
                         {"epsilon", 1e-6},
                         {"attention_input", "layers.{layer}.input_layernorm"},
                         {"mlp_input", "layers.{layer}.post_attention_layernorm"},
                         {"last", "norm"}}},
                       {"rope", {{"theta", 10000}, {"pairs", "neighbors"}}},
                       {"activation", "silu"}};
  const TempFolder folder;
  const std::string file = folder.write("layout.json", layout.dump()).string();
  const std::string model = data_path("forward/deepseek_v3/model.safetensors");
  for (const Words& command : {Words{"predict", model, "--tokens", "4,17,29,33"},
                               Words{"circuits", model, "--rope-offset", "-2", "--quiet"}}) {
    EXPECT_EQ(report_of(command)["rows"], report_of(command + Words{"--layout", file})["rows"])
        << command[0];
  }
}

TEST(MlaMatrix, RejectsATextThatHasNoEffect) {
  const RunResult dense = run_attnscope({"circuits", data_path("llama"), "--tokens", "1,2"});
  EXPECT_EQ(dense.exit_code, 2);
  EXPECT_TRUE(contains(dense.err, "llama is not an MLA model: its weights do not depend on a text"))
      << dense.err;
  const std::string path = data_path("forward/deepseek_v3");
  for (const Words& other :
       {Words{"spectrum", "--mla"}, Words{"spectrum", "--tensor", "lm_head.weight"},
        Words{"circuits", "--composition"}}) {
    const RunResult refused = run_attnscope(other + Words{path, "--tokens", "1,2"});
    EXPECT_EQ(refused.exit_code, 2) << other[1];
    EXPECT_TRUE(contains(refused.err, "uses no text")) << refused.err;
  }
}

TEST(MlaMatrix, LongTextsAttendToTheSelectedNumberOfKeys) {
  const json report = report_of({"attention", data_path("forward/deepseek_v32-selects"), "--tokens",
                                 "1,2,3,4,5,6,7,8,9,10,11,12", "--heatmap", "1,2"});
  ASSERT_EQ(report["rows"].size(), 12);
  for (const json& row : report["rows"]) {
    const auto weights = row["weights"].get<std::vector<double>>();
    const auto seen = std::count_if(weights.begin(), weights.end(), [](double w) { return w > 0; });
    EXPECT_EQ(seen, std::min<std::int64_t>(row["query"].get<std::int64_t>() + 1, 4));
  }
}

TEST(MlaMatrix, WeightsListsTheStoredMatrices) {
  const json report = report_of({"weights", data_path("forward/deepseek_v3")});
  for (const json& row : report["rows"]) {
    const std::string matrix = row["matrix"];
    EXPECT_TRUE(matrix != "q" && matrix != "k" && matrix != "v") << matrix;
  }
  EXPECT_TRUE(report["skipped"].empty());
}

}  // namespace
}  // namespace attnscope::test
