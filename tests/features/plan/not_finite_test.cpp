// Matrices with NaN or infinity are kept unchanged and named.
#include <fstream>
#include <limits>
#include <set>

#include "tests/features/attention/attention_model.h"
#include "tests/features/plan/plan_case.h"
#include "tests/support/stored_tensor.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

std::set<std::string> skipped_places(const json& report) {
  std::set<std::string> out;
  for (const json& entry : report["skipped"]) {
    out.insert(entry["layer"].dump() + " " + entry["matrix"].get<std::string>());
  }
  return out;
}

class PlanNotFinite : public PlanCase {
 protected:
  /// The example with NaN as one element of a matrix.
  std::string with_nan(const std::string& tensor) const {
    const fs::path folder = scratch_.path() / "nan";
    fs::copy(kPlanExample, folder);
    const fs::path file = folder / "model.safetensors";
    fs::permissions(file, fs::perms::owner_write, fs::perm_options::add);
    const json headers = tensor_headers(file);
    std::uint64_t header_bytes = 0;
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.read(reinterpret_cast<char*>(&header_bytes), sizeof header_bytes);
    const auto first = headers[tensor]["data_offsets"][0].get<std::uint64_t>();
    bytes.seekp(static_cast<std::streamoff>(sizeof header_bytes + header_bytes + first));
    bytes.write("\xc0\x7f", 2);  // bfloat16
    return folder.string();
  }

  /// A model whose first gate has a neuron that never fires: its weight for a large element of the
  /// residual stream is -inf.
  std::string with_dead_neuron() const {
    TinyLlama tiny = runnable_llama();
    tiny.config["hidden_act"] = "relu";
    constexpr std::int64_t kLarge = 5;
    for (std::int64_t token = 0; token < 10; ++token) {
      set_element(tiny.tensor("model.embed_tokens.weight"), token, kLarge, 1000);
    }
    TensorToWrite& gains = tiny.tensor("model.layers.0.post_attention_layernorm.weight");
    const float one = 1;
    std::memcpy(gains.bytes.data() + kLarge * sizeof one, &one, sizeof one);
    set_element(tiny.tensor("model.layers.0.mlp.gate_proj.weight"), 3, kLarge,
                -std::numeric_limits<float>::infinity());
    return tiny.write(scratch_, "dead");
  }

  Words on_tokens(Words words) const {
    const auto tokens = scratch_.write("tokens.bin", shard_bytes(random_tokens(400, 10)));
    words.insert(words.end(), {"--calibration-token-file", tokens.string(), "--quiet"});
    if (words.front() == "plan") words.insert(words.end(), {"--length", "16"});
    return words;
  }
};

TEST_F(PlanNotFinite, ActivationsSkipTheMatrixAndAllThatDependOnIt) {
  const std::string model = with_nan("model.layers.4.mlp.up_proj.weight");
  const json report = json::parse(
      output_of({"spectrum", model, "--activations", text_, "--length", "64", "--sequences", "8",
                 "--energy", "0.9", "--matrix", "q,up,down", "--format", "json", "--quiet"}));
  EXPECT_EQ(report["rows"].size(), 3u * 4 + 1);  // the input of q in layer 4 precedes the matrix
  EXPECT_EQ(skipped_places(report),
            (std::set<std::string>{"4 up", "4 down", "5 q", "5 up", "5 down"}));
  EXPECT_TRUE(contains(report["skipped"][0]["reason"].get<std::string>(), "row 0, column 0"));
  const json audio = json::parse(
      output_of({"spectrum", kPlanExample, "--activations", text_, "--length", "64", "--sequences",
                 "8", "--energy", "0.9", "--matrix", "q", "--format", "json", "--quiet"}));
  for (std::size_t layer = 0; layer < 5; ++layer) {
    EXPECT_EQ(report["rows"][layer == 4 ? 12 : 3 * layer]["activation_energy_rank"],
              audio["rows"][layer]["activation_energy_rank"]);
  }
}

TEST_F(PlanNotFinite, NamesTheMatrixThatCausesNan) {
  const std::string model = with_nan("model.layers.4.mlp.up_proj.weight");
  const RunResult run = run_attnscope(plan(model, {}));
  EXPECT_EQ(run.exit_code, 6);
  EXPECT_TRUE(contains(run.err, "layer 4 outputs NaN")) << run.err;
  EXPECT_TRUE(contains(run.err, "up of layer 4 holds NaN or Inf")) << run.err;
}

TEST_F(PlanNotFinite, AnAdapterSkipsTheMatrix) {
  const std::string model = with_nan("model.layers.4.mlp.up_proj.weight");
  const RunResult run = run_attnscope({"diff", kPlanExample, model, "--lora", path("adapter")});
  EXPECT_EQ(run.exit_code, 6);
  EXPECT_TRUE(contains(run.err, "nothing changed except matrices with NaN")) << run.err;
}

TEST_F(PlanNotFinite, TheComparisonKeepsTheMatrixAndSkipsDependentMethods) {
  const std::string model = with_dead_neuron();
  const json report = json::parse(output_of(on_tokens({"plan", model, "--format", "json"})));
  std::set<std::string> forms;
  for (const json& row : report["rows"]) forms.insert(row["method"].get<std::string>());
  EXPECT_EQ(forms, (std::set<std::string>{"depth", "mlp", "head-dim", "kv-heads", "heads", "mla",
                                          "low-rank"}));
  EXPECT_EQ(skipped_places(report), std::set<std::string>{"0 gate"});
  const RunResult run = run_attnscope(on_tokens({"plan", model, "--set", "hidden-size=8"}));
  EXPECT_EQ(run.exit_code, 6) << run.err;
}

TEST_F(PlanNotFinite, ReportsThatNoMatrixIsLeftForLowRank) {
  const RunResult run =
      run_attnscope(on_tokens({"plan", with_dead_neuron(), "--method", "low-rank", "--keep", "0.8",
                               "--layers", "0", "--matrix", "gate"}));
  EXPECT_EQ(run.exit_code, 6);
  EXPECT_TRUE(contains(run.err, "no matrix can be factored: gate of layer 0")) << run.err;
}

TEST_F(PlanNotFinite, ShrinkWritesTheMatrixUnchanged) {
  const std::string model = with_dead_neuron();
  output_of(
      on_tokens({"plan", model, "--method", "low-rank", "--keep", "0.8", "-o", path("plan.json")}));
  std::ifstream file(path("plan.json"));
  const json plan = json::parse(file);
  EXPECT_EQ(skipped_places(plan), std::set<std::string>{"0 gate"});
  for (const json& row : plan["rows"]) EXPECT_FALSE(row["layer"] == 0 && row["matrix"] == "gate");
  const json made = json::parse(output_of(
      on_tokens({"shrink", model, path("plan.json"), "-o", path("smaller"), "--format", "json"})));
  for (const json& row : made["rows"]) {
    if (row["tensor"] != "model.layers.0.mlp.gate_proj.weight") continue;
    EXPECT_EQ(row["change"], "kept");
  }
  output_of(on_tokens({"plan", model, "--set", "low-rank=0.up:2", "-o", path("one.json")}));
  json edited = json::parse(read_file(path("one.json")));
  for (json& row : edited["rows"]) {  // has the same shape as the matrix with infinity
    if (row["layer"] == 0 && row["matrix"] == "up") row["matrix"] = "gate";
  }
  scratch_.write("edited.json", edited.dump());
  const RunResult run =
      run_attnscope(on_tokens({"shrink", model, path("edited.json"), "-o", path("other")}));
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_TRUE(contains(run.err, "0.gate: contains NaN or infinity")) << run.err;
}

TEST_F(PlanNotFinite, RemovesTheFolderIfTheWrittenModelGivesNan) {
  TinyLlama tiny = runnable_llama();
  set_element(tiny.tensor("model.layers.0.mlp.up_proj.weight"), 3, 5, 1e5F);  // infinity in F16
  const std::string model = tiny.write(scratch_, "large");
  output_of(on_tokens({"plan", model, "--set", "remove-layers=1", "-o", path("plan.json")}));
  const RunResult run = run_attnscope(
      on_tokens({"shrink", model, path("plan.json"), "--dtype", "F16", "-o", path("out")}));
  EXPECT_EQ(run.exit_code, 6) << run.err;
  for (const fs::directory_entry& entry : fs::directory_iterator(scratch_.path())) {
    EXPECT_FALSE(contains(entry.path().filename().string(), "out")) << entry.path();
  }
}

}  // namespace
}  // namespace attnscope::test
