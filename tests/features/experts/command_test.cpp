// The matrices of experts in every command.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/tensor/decode.h"
#include "tests/support/golden_variants.h"
#include "tests/support/program.h"
#include "tests/support/safetensors_writer.h"

namespace attnscope::test {
namespace {

std::string routed(const std::string& name) { return data_path("forward/" + name); }

/// Without notes about sampled experts.
json rows_of(const Words& arguments) { return report_of(arguments + Words{"--quiet"})["rows"]; }

/// The text as one line, so that the wrapping of legends does not matter.
std::string joined_lines(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

/// The measured fields of a row.
json measures_of(json row) {
  for (const char* name : {"model", "layer", "matrix", "head", "expert"}) row.erase(name);
  return row;
}

TEST(CliExperts, AnExpertsRowEqualsThatOfItsTensor) {
  const struct {
    const char *role, *tensor;
  } cases[] = {{"gate", "gate_proj"}, {"up", "up_proj"}, {"down", "down_proj"}};
  for (const auto& [role, tensor] : cases) {
    SCOPED_TRACE(role);
    const json rows = rows_of({"spectrum", routed("dots1"), "--matrix", role, "--layers", "2",
                               "--experts", "5", "--values"});
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0]["experts"], 1);
    EXPECT_EQ(rows[1]["expert"], 5);
    const std::string name = "model.layers.2.mlp.experts.5." + std::string(tensor) + ".weight";
    const json alone = rows_of({"spectrum", routed("dots1"), "--tensor", name, "--values"});
    EXPECT_EQ(measures_of(rows[1]), measures_of(alone[0]));
  }
}

TEST(CliExperts, StackedExpertsEqualTheirSlices) {
  // The two stacked tensors of qwen2_moe-stacked contain all experts.
  const TempFolder folder;
  const Checkpoint whole = Checkpoint::open(routed("qwen2_moe-stacked") + "/model.safetensors");
  const CheckpointTensor& both = *whole.find("model.layers.0.mlp.experts.gate_up_proj");
  ASSERT_EQ(both.view.shape, (Shape{6, 24, 32}));
  constexpr std::size_t kHalf = 12 * 32 * 2;  // bytes of one expert's gate
  const auto* bytes = reinterpret_cast<const char*>(both.view.bytes.data());
  const std::string slice(bytes + 3 * 2 * kHalf + kHalf, kHalf);
  const auto file =
      folder.write("up.safetensors", safetensors_bytes({{"up", "BF16", {12, 32}, slice}}));
  const json rows =
      rows_of({"spectrum", routed("qwen2_moe-stacked"), "--matrix", "up", "--experts", "3"});
  const json alone = rows_of({"spectrum", file.string(), "--tensor", "up"});
  EXPECT_EQ(measures_of(rows[1]), measures_of(alone[0]));
}

TEST(CliExperts, TablesStateThatALayersNumberIsAMedian) {
  const std::string table = output_of({"spectrum", routed("mixtral"), "--matrix", "gate,q"});
  EXPECT_TRUE(contains(joined_lines(table), "MoE layers: median over 5 experts")) << table;
  const std::string dense = output_of({"spectrum", routed("mixtral"), "--matrix", "q"});
  EXPECT_FALSE(contains(joined_lines(dense), "median")) << dense;
}

TEST(CliExperts, OneRowSummarizesTheExperts) {
  const json rows =
      rows_of({"spectrum", routed("dots1"), "--matrix", "up", "--layers", "1", "--experts", "0-4"});
  ASSERT_EQ(rows.size(), 6u);
  const json& sum = rows[0];
  EXPECT_EQ(sum["experts"], 5);
  std::vector<double> norms;
  std::vector<std::int64_t> ranks;
  for (std::size_t at = 1; at < rows.size(); ++at) {
    norms.push_back(rows[at]["frobenius_norm"]);
    ranks.push_back(rows[at]["energy_rank"]["0.99"]);
  }
  std::sort(norms.begin(), norms.end());
  std::sort(ranks.begin(), ranks.end());
  EXPECT_EQ(sum["frobenius_norm"], norms[2]);
  EXPECT_EQ(sum["energy_rank"]["0.99"], ranks[2]);
  EXPECT_EQ(sum["least_energy_rank"]["0.99"], ranks.front());
  EXPECT_EQ(sum["lower_quartile_energy_rank"]["0.99"], ranks[1]);
  EXPECT_EQ(sum["upper_quartile_energy_rank"]["0.99"], ranks[3]);
  EXPECT_EQ(sum["most_energy_rank"]["0.99"], ranks.back());
}

TEST(CliExperts, DenseLayersShowTheirMlp) {
  const json rows = rows_of({"spectrum", routed("qwen2_moe-dense"), "--matrix", "up,router"});
  std::vector<std::string> of_layers(4);
  for (const json& row : rows) {
    std::string& text = of_layers[row["layer"].get<std::size_t>()];
    text += row["matrix"] == "router" ? 'r' : row.contains("expert") ? 'e' : 'u';
  }
  EXPECT_EQ(of_layers, (std::vector<std::string>{"u", "ueeeeeer", "u", "u"}));
}

TEST(CliExperts, WeightsOfAnExpert) {
  const json rows = rows_of({"weights", routed("mixtral"), "--matrix", "down", "--layers", "0",
                             "--experts", "all", "--histogram"});
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_EQ(rows[0]["experts"], 5);
  EXPECT_TRUE(rows[0]["histogram"].is_null());
  EXPECT_EQ(rows[3]["count"], 24 * 20);
  EXPECT_FALSE(rows[3]["histogram"].is_null());
}

TEST(CliExperts, RejectsUnknownExperts) {
  const struct {
    Words words;
    const char* problem;
  } cases[] = {
      {{"spectrum", routed("mixtral"), "--experts", "3-9"}, "'3-9': mixtral has experts 0 to 4"},
      {{"spectrum", routed("mixtral"), "--experts", "4-3"}, "is not an expert or a range"},
      {{"spectrum", routed("mixtral"), "--experts", "-1"}, "is not an expert or a range"},
      {{"spectrum", routed("mixtral"), "--experts", "some"}, "is not an expert or a range"},
      {{"spectrum", routed("mixtral"), "--matrix", "q", "--experts", "1"},
       "none of these matrices belongs to an expert"},
      {{"spectrum", routed("llama"), "--experts", "0"},
       "none of these matrices belongs to an expert"},
  };
  for (const auto& [words, problem] : cases) expect_refusal(words, 2, {problem});
}

TEST(CliExperts, RoutingEqualsTransformers) {
  // The first 200 tokens that transformers routed in golden_forward.py.
  const GoldenTensors golden = routing_of({.model = "mixtral"});
  const CheckpointTensor& ids = *golden.find("tokens");
  const CheckpointTensor& experts = *golden.find("experts");
  std::string tokens;
  for (std::size_t at = 0; at < ids.view.bytes.size(); at += 4) {
    tokens += (at == 0 ? "" : ",") + std::to_string(std::to_integer<int>(ids.view.bytes[at]));
  }
  const json rows = rows_of({"experts", routed("mixtral"), "--tokens", tokens});
  ASSERT_EQ(rows.size(), 2u);
  for (std::size_t layer = 0; layer < 2; ++layer) {
    std::vector<double> load(5);
    for (std::size_t at = 0; at < 400; ++at) {
      load[std::to_integer<std::size_t>(experts.view.bytes[layer * 400 + at])] += 1 / 400.0;
    }
    EXPECT_EQ(rows[layer]["tokens"], 200);
    for (std::size_t expert = 0; expert < 5; ++expert) {
      EXPECT_NEAR(rows[layer]["load"][expert].get<double>(), load[expert], 1e-12);
    }
  }
}

TEST(CliExperts, NotesTies) {
  const json rows = rows_of({"experts", routed("mixtral"), "--tokens", "3,4,5"});
  for (const json& row : rows) EXPECT_EQ(row["ties"], 0);
  // A router of zeros gives all experts the same score.
  const TempFolder folder;
  std::string weights = read_file(routed("mixtral") + "/model.safetensors");
  const Checkpoint stored = Checkpoint::open(routed("mixtral"));
  for (const CheckpointTensor& tensor : stored.tensors()) {
    if (!tensor.name.ends_with("block_sparse_moe.gate.weight")) continue;
    const auto first = tensor.view.bytes.data() - stored.files()[tensor.file].bytes().data();
    std::fill_n(weights.begin() + first, tensor.view.bytes.size(), '\0');
  }
  folder.write("model.safetensors", weights);
  folder.write("config.json", read_file(routed("mixtral") + "/config.json"));
  const RunResult run =
      run_attnscope({"experts", folder.path().string(), "--tokens", "3,4,5", "--format", "json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json report = json::parse(run.out);
  for (const json& row : report["rows"]) {
    EXPECT_EQ(row["ties"], 3);
    EXPECT_EQ(row["load"], json::parse("[0.5, 0.5, 0.0, 0.0, 0.0]"));
  }
  EXPECT_TRUE(contains(run.err, "layer 1: 3 of 3 tokens have tied router scores")) << run.err;
}

TEST(CliExperts, ExpertsRejectsModelsWithoutExperts) {
  expect_refusal({"experts", routed("llama")}, 2, {"llama has no experts"});
  expect_refusal({"experts", routed("qwen2_moe-dense"), "--tokens", "3", "--layers", "0"}, 2,
                 {"none of the selected layers of qwen2_moe-dense has experts"});
}

/// The rows of `matrix` as vectors.
std::vector<std::vector<double>> matrix_of(const std::string& model, const Words& words) {
  std::vector<std::vector<double>> out;
  const json rows = rows_of(Words{"matrix", model} + words);
  for (const json& row : rows) out.push_back(row["values"].get<std::vector<double>>());
  return out;
}

TEST(CliExperts, OneMatrixEqualsTheFile) {
  const json rows =
      rows_of({"matrix", routed("mixtral"), "--layer", "1", "--matrix", "down", "--expert", "3"});
  const Checkpoint stored = Checkpoint::open(routed("mixtral") + "/model.safetensors");
  const CheckpointTensor& down =
      *stored.find("model.layers.1.block_sparse_moe.experts.3.w2.weight");
  ASSERT_EQ(std::ssize(rows), down.view.shape[0]);
  std::vector<float> row(static_cast<std::size_t>(down.view.shape[1]));
  for (std::size_t at = 0; at < rows.size(); ++at) {
    EXPECT_EQ(rows[at]["expert"], 3);
    decode_elements(down.view, static_cast<std::int64_t>(at) * std::ssize(row), 1, std::ssize(row),
                    row.data());
    EXPECT_EQ(rows[at]["values"], json(std::vector<double>(row.begin(), row.end())));
  }
  EXPECT_EQ(matrix_of(routed("mixtral"), {"--layer", "0", "--matrix", "router"}).size(), 5u);
  EXPECT_EQ(
      matrix_of(routed("qwen2_moe"), {"--layer", "-1", "--matrix", "shared_gate"}).front().size(),
      32u);
  const Words of_layer = {"--layer", "0", "--matrix"};
  expect_refusal(Words{"matrix", routed("mixtral")} + of_layer + Words{"up"}, 2,
                 {"layer 0 of mixtral has a matrix 'up' for each of 5 experts"});
  expect_refusal(Words{"matrix", routed("mixtral")} + of_layer + Words{"up", "--expert", "5"}, 2,
                 {"mixtral has experts 0 to 4"});
  expect_refusal(Words{"matrix", routed("mixtral")} + of_layer + Words{"q", "--expert", "0"}, 2,
                 {"layer 0 of mixtral has no experts for 'q'"});
  expect_refusal(Words{"matrix", routed("llama")} + of_layer + Words{"up", "--expert", "0"}, 2,
                 {"layer 0 of llama has no experts for 'up'"});
}

/// The mean cosine similarity over all pairs of vectors.
double mean_cosine(const std::vector<std::vector<double>>& vectors) {
  const auto product = [](const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  double sum = 0, pairs = 0;
  for (std::size_t a = 0; a < vectors.size(); ++a) {
    for (std::size_t b = a + 1; b < vectors.size(); ++b, ++pairs) {
      sum += product(vectors[a], vectors[b]) /
             std::sqrt(product(vectors[a], vectors[a]) * product(vectors[b], vectors[b]));
    }
  }
  return sum / pairs;
}

TEST(CliExperts, SimilarityComparesVectorsWithinEachExpert) {
  const json rows = rows_of({"similarity", routed("mixtral"), "--layers", "0", "--matrix",
                             "router,up,down", "--experts", "1,4"});
  ASSERT_EQ(rows.size(), 1u + 3 + 3);
  for (const json& row : rows) EXPECT_EQ(row["scope"], "all");
  const auto expect_mean = [](const json& row, const std::vector<std::vector<double>>& vectors) {
    EXPECT_NEAR(row["mean"].get<double>(), mean_cosine(vectors), 1e-12);
    EXPECT_EQ(row["pairs"], vectors.size() * (vectors.size() - 1) / 2);
  };
  const std::string model = routed("mixtral");
  expect_mean(rows[0], matrix_of(model, {"--layer", "0", "--matrix", "router"}));
  EXPECT_EQ(rows[1]["experts"], 2);
  expect_mean(rows[2], matrix_of(model, {"--layer", "0", "--matrix", "up", "--expert", "1"}));
  // For `down`, the output vectors of units: the columns.
  const auto down = matrix_of(model, {"--layer", "0", "--matrix", "down", "--expert", "4"});
  std::vector<std::vector<double>> columns(down.front().size());
  for (const std::vector<double>& row : down) {
    for (std::size_t col = 0; col < row.size(); ++col) columns[col].push_back(row[col]);
  }
  EXPECT_EQ(rows[6]["expert"], 4);
  expect_mean(rows[6], columns);
  expect_refusal({"similarity", routed("mixtral"), "--overlap", "--matrix", "up"}, 2,
                 {"'up' has no heads"});
}

TEST(CliExperts, StackedExpertsHaveTheRankOfTheStack) {
  const json rows = rows_of({"experts", routed("mixtral"), "--layers", "1", "--experts", "0-1"});
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0]["matrix"], "router");
  EXPECT_EQ(rows[0]["shape"], json::parse("[5, 24]"));
  EXPECT_TRUE(rows[0]["single_energy_rank"].is_null());
  for (std::size_t at = 1; at < 4; ++at) {
    EXPECT_EQ(rows[at]["experts"], 2);
    EXPECT_EQ(rows[at]["shape"], json::parse("[40, 24]"));
    EXPECT_EQ(rows[at]["mean_similarity"], rows[at]["most_similarity"]);
    EXPECT_LE(rows[at]["single_energy_rank"]["0.99"], rows[at]["energy_rank"]["0.99"]);
  }
}

}  // namespace
}  // namespace attnscope::test
