// --layout: a checkpoint of any architecture, described in a file.
#include "tests/support/program.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

constexpr int kLayers = 2, kHeads = 2, kLayoutHeadDim = 4, kLayoutWidth = 8;
const Words kRoles = {"q", "k", "v", "o"};

/// The layout of docs/formats.md with other numbers.
json stacked_layout() {
  json layout = {{"schema", "attnscope-layout/1"},
                 {"name", "nanogpt-stacked"},
                 {"layers", kLayers},
                 {"heads", kHeads},
                 {"head_dim", kLayoutHeadDim},
                 {"hidden_size", kLayoutWidth},
                 {"weights", json::array()}};
  for (std::size_t index = 0; index < kRoles.size(); ++index) {
    layout["weights"].push_back(
        {{"role", kRoles[index]}, {"tensor", "blocks.{layer}.attn.qkvo_w"}, {"index", index}});
  }
  return layout;
}

/// The same weights as separate tensors.
json separate_layout() {
  json layout = stacked_layout();
  layout["name"] = "separate";
  for (json& weight : layout["weights"]) {
    weight = {{"role", weight["role"]}, {"tensor", weight["role"].get<std::string>() + ".{layer}"}};
  }
  return layout;
}

/// Both checkpoints and their layouts in one folder.
class Layouts : public testing::Test {
 protected:
  Layouts() {
    std::vector<TensorToWrite> stacked, separate;
    for (int layer = 0; layer < kLayers; ++layer) {
      const std::string number = std::to_string(layer);
      TensorToWrite whole = random_tensor("blocks." + number + ".attn.qkvo_w",
                                          {4, kLayoutWidth, kLayoutWidth}, 3u + layer);
      const std::size_t bytes = whole.bytes.size() / kRoles.size();
      for (std::size_t index = 0; index < kRoles.size(); ++index) {
        separate.push_back({kRoles[index] + "." + number,
                            "F32",
                            {kLayoutWidth, kLayoutWidth},
                            whole.bytes.substr(index * bytes, bytes)});
      }
      stacked.push_back(std::move(whole));
    }
    stacked_ = folder_.write("stacked.safetensors", safetensors_bytes(stacked)).string();
    separate_ = folder_.write("separate.safetensors", safetensors_bytes(separate)).string();
  }

  std::string layout_file(const json& layout) const {
    return folder_.write("layout.json", layout.dump()).string();
  }

  void expect_refused(json layout, const Words& said) const {
    const Words named = said + Words{"layout.json"};
    expect_refusal({"spectrum", stacked_, "--layout", layout_file(layout)}, 4, named);
  }

  TempFolder folder_;
  std::string stacked_, separate_;
};

TEST_F(Layouts, AStackedTensorHasTheSpectraOfItsParts) {
  const Words command = {"--per-head", "--values", "--matrix", "q,k,v,o,qk,ov"};
  const json stacked =
      report_of(Words{"spectrum", stacked_, "--layout", layout_file(stacked_layout())} + command);
  const json separate =
      report_of(Words{"spectrum", separate_, "--layout", layout_file(separate_layout())} + command);
  EXPECT_EQ(stacked["models"][0]["architecture"], "nanogpt-stacked");
  EXPECT_EQ(stacked["models"][0]["intermediate_size"], nullptr);
  EXPECT_EQ(stacked["rows"].size(), 2u * 6 * 3);
  json expected = separate["rows"];
  for (json& row : expected) row["model"] = "stacked.safetensors";
  EXPECT_EQ(stacked["rows"], expected);
  // Also equal to the tensor selected by name, which needs no layout.
  const json by_name = report_of({"spectrum", separate_, "--tensor", "o.1", "--values"});
  EXPECT_EQ(find_row(stacked["rows"], 1, "o", nullptr)["singular_values"],
            by_name["rows"][0]["singular_values"]);
}

TEST_F(Layouts, OtherCommandsUseTheLayoutToo) {
  const std::string layout = layout_file(stacked_layout());
  const json info = report_of({"info", stacked_, "--layout", layout});
  ASSERT_EQ(info["rows"].size(), static_cast<std::size_t>(kLayers));
  EXPECT_EQ(info["rows"][1]["role"], "q+k+v+o");
  EXPECT_EQ(info["rows"][1]["layer"], 1);
  EXPECT_EQ(info["rows"][1]["shape"], (json{4, kLayoutWidth, kLayoutWidth}));
  EXPECT_EQ(info["models"][0]["parameters"], kLayers * 4 * kLayoutWidth * kLayoutWidth);
  const Words command = {"--layer", "1", "--matrix", "v", "--head", "1"};
  const json matrix = report_of(Words{"matrix", stacked_, "--layout", layout} + command);
  const json separate =
      report_of(Words{"matrix", separate_, "--layout", layout_file(separate_layout())} + command);
  EXPECT_EQ(matrix["rows"].size(), static_cast<std::size_t>(kLayoutHeadDim));
  ASSERT_EQ(matrix["rows"].size(), separate["rows"].size());
  for (std::size_t row = 0; row < matrix["rows"].size(); ++row) {
    EXPECT_EQ(matrix["rows"][row]["values"], separate["rows"][row]["values"]);
  }
}

TEST_F(Layouts, ReplacesTheConfig) {
  // A layout that describes only q, next to a config that describes more.
  json layout = {{"schema", "attnscope-layout/1"},
                 {"layers", 2},
                 {"heads", 4},
                 {"head_dim", 8},
                 {"hidden_size", 32}};
  layout["weights"] = {
      {{"role", "q"}, {"tensor", "encoder.layer.{layer}.attention.self.query.weight"}}};
  layout["prefix"] = "bert.";
  const json report = report_of({"spectrum", data_path("bert"), "--layout", layout_file(layout)});
  EXPECT_EQ(report["models"][0]["architecture"], "custom");
  const json with_config = report_of({"spectrum", data_path("bert"), "--matrix", "q"});
  EXPECT_EQ(report["rows"], with_config["rows"]);
}

TEST_F(Layouts, NamesErrors) {
  json layout = stacked_layout();
  layout["layer"] = 2;
  expect_refused(layout, {"'layer'", "'layers'"});  // an unknown field, and the suggested one

  layout = stacked_layout();
  layout["weights"][1]["indx"] = 1;
  expect_refused(layout, {"weights[1]", "'indx'", "'index'"});

  layout = stacked_layout();
  layout.erase("schema");
  expect_refused(layout, {"'schema'"});

  layout = stacked_layout();
  layout["schema"] = "attnscope-layout/2";
  expect_refused(layout, {"attnscope-layout/2", "attnscope-layout/1"});

  layout = stacked_layout();
  layout.erase("head_dim");
  layout["heads"] = kLayoutWidth + 1;  // otherwise, the head dimension is hidden size / heads
  expect_refused(layout, {"'head_dim'"});

  layout = stacked_layout();
  layout["heads"] = 0;
  expect_refused(layout, {"'heads'"});

  layout = stacked_layout();
  layout["kv_heads"] = 3;
  expect_refused(layout, {"2", "3"});

  layout = stacked_layout();
  layout["weights"] = json::array();
  expect_refused(layout, {"'weights'"});

  layout = stacked_layout();
  layout["weights"][0]["role"] = "query";
  expect_refused(layout, {"weights[0]", "'query'", "q"});

  layout = stacked_layout();
  layout["weights"][1]["role"] = "q";
  expect_refused(layout, {"weights[1]", "'q'"});  // listed twice

  layout = stacked_layout();
  layout["weights"][0].erase("tensor");
  expect_refused(layout, {"weights[0]", "'tensor'"});

  layout = stacked_layout();
  layout["weights"][0]["storage"] = "rowwise";
  expect_refused(layout, {"'rowwise'", "out_by_in"});

  layout = stacked_layout();
  layout["weights"][0]["role"] = "up";
  expect_refused(layout, {"weights[0]", "'intermediate_size'"});

  folder_.write("layout.json", "{");
  expect_refusal({"info", stacked_, "--layout", (folder_.path() / "layout.json").string()}, 4,
                 {"layout.json", "JSON"});
}

TEST_F(Layouts, ShapeMismatchNamesTheTensor) {
  json layout = stacked_layout();
  const auto expect_mismatch = [&](const Words& said) {
    expect_refusal({"spectrum", stacked_, "--layout", layout_file(layout)}, 4, said);
  };
  layout["weights"][3]["index"] = 4;
  expect_mismatch({"blocks.0.attn.qkvo_w", "4"});

  layout = stacked_layout();
  for (auto& rule : layout["weights"]) rule["tensor"] = "blocks.{layer}.attn.another";
  expect_mismatch({"blocks.0.attn.another"});

  layout = stacked_layout();
  layout["hidden_size"] = 16;
  expect_mismatch({"blocks.0.attn.qkvo_w", "[4, 8, 8]"});

  layout = stacked_layout();
  layout["weights"][0].erase("index");
  expect_mismatch({"blocks.0.attn.qkvo_w", "[4, 8, 8]", "[8, 8]"});
}

/// The layout of tests/data/forward/llama.
json running_layout() { return json::parse(read_file(data_path("layouts/llama.json"))); }

TEST_F(Layouts, RejectsANameThatMatchesNoTensor) {
  const std::string model = data_path("forward/llama/model.safetensors");
  const struct {
    const char *place, *name, *said;
  } cases[] = {
      {"/lm_head", "lm_heed.weight", "the LM head 'lm_heed.weight'"},
      {"/embedding", "embed.weight", "'embedding' 'model.embed.weight'"},
      {"/norms/last", "final_norm", "the norm 'model.final_norm.*'"},
      {"/weights/5/tensor", "layers.{layer}.mlp.w3",
       "the tensor of 'up' 'model.layers.{layer}.mlp.w3'"},
  };
  for (const auto& [place, name, said] : cases) {
    SCOPED_TRACE(place);
    json layout = running_layout();
    layout[json::json_pointer(place)] = name;
    for (const Words& command :
         std::vector<Words>{{"predict", "--tokens", "3"}, {"spectrum"}, {"info"}}) {
      const RunResult run = run_attnscope(command + Words{model, "--layout", layout_file(layout)});
      EXPECT_EQ(run.exit_code, 4) << run.err;
      EXPECT_EQ(run.out, "");
      EXPECT_EQ(lines_of(run.err).size(), 1u) << run.err;
      EXPECT_TRUE(contains(run.err, "layout.json: " + std::string(said) + " matches no tensor of "))
          << run.err;
    }
  }
}

// For an unknown model_type, the one-line error names a command that writes a usable layout.
TEST_F(Layouts, SuggestsALayoutForAnUnknownArchitecture) {
  const TempFolder folder;
  const std::string known = data_path("forward/llama/");
  json config = json::parse(read_file(known + "config.json"));
  config["model_type"] = "novel";
  config["architectures"] = {"NovelForCausalLM"};
  const auto path = folder.write("novel/config.json", config.dump()).parent_path();
  std::filesystem::copy_file(known + "model.safetensors", path / "model.safetensors");
  const RunResult refused = run_attnscope({"spectrum", path.string()});
  EXPECT_EQ(refused.exit_code, 5);
  EXPECT_EQ(lines_of(refused.err).size(), 1u);
  EXPECT_LT(refused.err.size(), 400u) << refused.err;
  EXPECT_TRUE(contains(refused.err, "'info MODEL --suggest-layout FILE.json'")) << refused.err;

  const std::string layout = folder.path() / "suggested.json";
  const RunResult written = run_attnscope({"info", path.string(), "--suggest-layout", layout});
  EXPECT_EQ(written.exit_code, 0) << written.err;
  EXPECT_TRUE(contains(written.err, "The forward pass is inferred")) << written.err;
  const Words run = {"--tokens", "3,4,5,6"};
  json by_layout = report_of(Words{"predict", path.string(), "--layout", layout} + run);
  const json by_family = report_of(Words{"predict", known} + run);
  for (json& row : by_layout["rows"]) row["model"] = "llama";
  EXPECT_EQ(by_layout["rows"], by_family["rows"]);
  EXPECT_EQ(by_layout["models"][0]["hidden_states"], by_family["models"][0]["hidden_states"]);

  config["novel_scale"] = 2;
  folder.write("novel/config.json", config.dump());
  const RunResult weights = run_attnscope({"info", path.string(), "--suggest-layout", layout});
  EXPECT_EQ(weights.exit_code, 0) << weights.err;
  EXPECT_TRUE(contains(weights.err, "analyses of weights only: the config key 'novel_scale' is"))
      << weights.err;
  EXPECT_EQ(run_attnscope({"spectrum", path.string(), "--layout", layout}).exit_code, 0);
  const RunResult no_pass =
      run_attnscope({"predict", path.string(), "--layout", layout, "--tokens", "3"});
  EXPECT_EQ(no_pass.exit_code, 5);
  EXPECT_TRUE(contains(no_pass.err, "does not describe the forward pass")) << no_pass.err;
}

TEST_F(Layouts, NotesLayersBeyondTheDescribedOnes) {
  const std::string model = data_path("forward/llama/model.safetensors");
  json layout = running_layout();
  for (const char* field : {"norms", "rope", "activation"}) layout.erase(field);
  const RunResult all = run_attnscope({"spectrum", model, "--layout", layout_file(layout)});
  EXPECT_FALSE(contains(all.err, "describes")) << all.err;
  layout["layers"] = 1;
  const RunResult one = run_attnscope({"spectrum", model, "--layout", layout_file(layout)});
  EXPECT_EQ(one.exit_code, 0);
  EXPECT_TRUE(contains(one.err, "describes 1 layer, but the weights files contain layers up to 1"))
      << one.err;
}

TEST_F(Layouts, SuggestsNoLayoutForOtherModels) {
  const TempFolder folder;
  const std::string layout = folder.path() / "suggested.json";
  const auto suggest = [&](const Words& models) {
    return run_attnscope(Words{"info"} + models + Words{"--suggest-layout", layout});
  };
  const RunResult known = suggest({data_path("forward/llama")});
  EXPECT_EQ(known.exit_code, 2);
  EXPECT_TRUE(contains(known.err, "'llama' is a supported architecture")) << known.err;
  EXPECT_EQ(suggest({data_path("forward/llama"), data_path("gpt2")}).exit_code, 2);
  json config = json::parse(read_file(data_path("gpt2/config.json")));
  config["model_type"] = "novel";
  config.erase("architectures");
  const auto path = folder.write("novel/config.json", config.dump()).parent_path();
  std::filesystem::copy_file(data_path("gpt2/model.safetensors"), path / "model.safetensors");
  const RunResult other = suggest({path.string()});
  EXPECT_EQ(other.exit_code, 5);
  EXPECT_TRUE(contains(other.err, "do not match Llama, BERT, RoBERTa or GPT-NeoX")) << other.err;
  EXPECT_FALSE(std::filesystem::exists(layout));
}

TEST_F(Layouts, NotesTensorsThatItDoesNotDescribe) {
  const std::string model = data_path("forward/llama/model.safetensors");
  json layout = running_layout();
  const Words command = {"attention", model, "--tokens", "3,4,5", "--layout"};
  EXPECT_FALSE(
      contains(run_attnscope(command + Words{layout_file(layout)}).err, "does not describe"));
  layout["norms"].erase("last");
  const RunResult run = run_attnscope(command + Words{layout_file(layout)});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_TRUE(contains(run.err, "layout.json: does not describe 1 tensor: 'model.norm.weight'"))
      << run.err;
}

}  // namespace
}  // namespace attnscope::test
