// Rejected models: one line on stderr, nothing on stdout, and the matching exit code.
#include "tests/support/refusals.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

/// A folder of broken models, each named after its error.
class BrokenModels : public testing::Test {
 protected:
  void with_weights(const std::string& name, std::string_view bytes) const {
    folder_.write(name + "/config.json", TinyLlama().config.dump());
    folder_.write(name + "/model.safetensors", bytes);
  }
  void with_config(const std::string& name, std::string_view config) const {
    TinyLlama().write(folder_, name);
    folder_.write(name + "/config.json", config);
  }
  void with_config(const std::string& name, const char* key, const json& value) const {
    json config = TinyLlama().config;
    config[key] = value;
    with_config(name, config.dump());
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  TempFolder folder_;
};

TEST_F(BrokenModels, BadFiles) {
  const std::string audio = safetensors_bytes(TinyLlama().tensors);
  with_weights("empty", "");
  with_weights("shorter than its header says", audio.substr(0, 200));
  with_weights("shorter than its tensors", audio.substr(0, audio.size() - 1));
  with_weights("longer than its tensors", audio + "x");
  with_weights("no safetensors", std::string(100, 'x'));
  with_weights("header is no JSON", safetensors_with_header("{]", 0));
  with_weights("unknown dtype",
               safetensors_with_header(
                   R"({"t": {"dtype": "F7", "shape": [1], "data_offsets": [0, 1]}})", 1));
  with_config("config is no JSON", "{");
  with_config("config is a list", "[]");
  with_config("config without a family", "{}");
  with_config("heads do not divide", "num_key_value_heads", 3);
  with_config("no heads", "num_attention_heads", 0);
  with_config("a word for a number", "hidden_size", "wide");
  with_config("another width", "hidden_size", 8);
  with_weights("another prefix", safetensors_bytes({counting_tensor("layers.q", {16, 16})}));
  folder_.write("shard elsewhere/config.json", TinyLlama().config.dump());
  folder_.write("shard elsewhere/model.safetensors.index.json",
                R"({"weight_map": {"t": "../secret.safetensors"}})");

  std::vector<Refusal> refusals;
  for (const std::string& name : files_in(folder_.path())) {
    refusals.push_back({"spectrum", {"spectrum", path(name)}, {path(name)}});
    refusals.push_back({"info", {"info", path(name), "--format", "json"}, {path(name)}});
  }
  EXPECT_EQ(refusals.size(), 32u);
  expect_refusals(kBadFile, refusals);
  expect_refusals(
      kBadFile, {
                    {"what is missing", {"info", path("another prefix")}, {"model.layers.0."}},
                    {"which shape", {"info", path("another width")}, {"[16, 16]", "[16, 8]"}},
                    {"which numbers", {"info", path("heads do not divide")}, {"4", "3"}},
                    {"which dtype", {"info", path("unknown dtype")}, {"'F7'"}},
                    {"that it was cut", {"info", path("shorter than its tensors")}, {"truncated"}},
                });
}

TEST_F(BrokenModels, UnsupportedModels) {
  folder_.write("only-h5/config.json", TinyLlama().config.dump());
  folder_.write("only-h5/tf_model.h5", "HDF");
  folder_.write("old/model.gguf", std::string("GGUF\1\0\0\0", 8));
  with_config("another family", R"({"model_type": "rwkv", "architectures": ["RwkvForCausalLM"]})");
  with_config("another class", R"({"architectures": ["RwkvForCausalLM"]})");

  TinyLlama undecoded;
  undecoded.attention(0, 'q') = zero_tensor(TinyLlama::attention_name(0, 'q'), "F4", 4, {16, 16});
  undecoded.write(folder_, "undecoded");
  TinyLlama integers;
  integers.attention(0, 'q') = zero_tensor(TinyLlama::attention_name(0, 'q'), "I32", 32, {16, 16});
  integers.write(folder_, "integers");
  TinyLlama quantized;
  quantized.config["quantization_config"] = {{"quant_method", "quanto"}};
  std::erase_if(quantized.tensors, [](const TensorToWrite& tensor) {
    return tensor.name == TinyLlama::attention_name(0, 'q');
  });
  quantized.write(folder_, "quantised");

  const std::string q = TinyLlama::attention_name(0, 'q');
  const Words one_matrix = {"--layer", "0", "--matrix"};
  expect_refusals(
      kUnsupported,
      {
          {"only .h5", {"spectrum", path("only-h5")}, {"only-h5", "tf_model.h5"}},
          {"version 1 of GGUF", {"info", path("old")}, {"model.gguf", "version 1"}},
          {"the .h5 itself", {"info", path("only-h5/tf_model.h5")}, {"tf_model.h5"}},
          {"no weights file", {"info", path("another family/config.json")}, {"config.json"}},
          {"another model_type",
           {"spectrum", path("another family")},
           {"'rwkv'", "albert", "bert", "distilbert", "gemma3", "gpt2", "gpt_neo", "gpt_neox",
            "llama", "mistral", "opt", "phi3", "qwen3", "roberta", "--layout"}},
          {"another class", {"info", path("another class")}, {"'RwkvForCausalLM'", "llama"}},
          {"undecoded in spectrum", {"spectrum", path("undecoded")}, {q, "F4"}},
          {"undecoded in matrix",
           Words{"matrix", path("undecoded")} + one_matrix + Words{"qk"},
           {"F4"}},
          {"undecoded by name", {"spectrum", path("undecoded"), "--tensor", q}, {q, "F4"}},
          {"matrix of integers",
           Words{"matrix", path("integers")} + one_matrix + Words{"q"},
           {q, "I32"}},
          {"quantised", {"spectrum", path("quantised")}, {q, "quanto"}},
      });

  // A tensor that cannot be decoded is still listed and does not block the others.
  const json report = report_of({"info", path("undecoded")});
  const auto listed = std::find_if(report["rows"].begin(), report["rows"].end(),
                                   [&](const json& row) { return row["name"] == q; });
  ASSERT_NE(listed, report["rows"].end());
  EXPECT_EQ((*listed)["dtype"], "F4");
  EXPECT_EQ((*listed)["bytes"], 128);
  EXPECT_EQ((*listed)["role"], "q");
  EXPECT_EQ(report_of({"spectrum", path("undecoded"), "--matrix", "k,v"})["rows"].size(), 4u);
}

TEST_F(BrokenModels, SuggestsAKnownArchitecture) {
  with_config("lama", "model_type", "lama");
  with_config("gpt-neox", "model_type", "gpt-neox");
  expect_refusal({"info", path("lama")}, kUnsupported, {"'lama'", "did you mean 'llama'"});
  expect_refusal({"info", path("gpt-neox")}, kUnsupported, {"did you mean 'gpt_neox'"});
  // Similar names of other architectures: all that transformers knows, and later versions.
  for (const char* other : {"llava", "llama5", "mistral3", "pixtral", "plbart", "ibert", "dpt",
                            "gemma5", "qwen4", "t5gemma2", "phi5", "gpt3"}) {
    with_config(other, json{{"model_type", other}}.dump());
    const RunResult run = run_attnscope({"info", path(other)});
    EXPECT_TRUE(contains(run.err, "is not known; known: albert")) << other << ": " << run.err;
    EXPECT_TRUE(contains(run.err, "(describe unknown architectures with --layout FILE.json)"))
        << run.err;
  }
}

TEST_F(BrokenModels, StatesWhyAnArchitectureIsNotSupported) {
  for (const auto& [type, reason] : {std::pair{"diffllama", "two softmaxes"},
                                     {"nezha", "relative positions"},
                                     {"doge", "mask"}}) {
    with_config(type, json{{"model_type", type}}.dump());
    expect_refusal({"info", path(type)}, kUnsupported,
                   {"'" + std::string(type) + "' is not known: ", reason, "; known: albert"});
  }
}

TEST_F(BrokenModels, StripsTerminalEscapesFromFileContents) {
  // ESC, a line feed, DEL, and CSI as one C1 character.
  const std::string hostile =
      "evil\x1b[31m\n\x7f\xc2\x9b"
      "2J";
  TinyLlama model;
  model.tensors.push_back(counting_tensor(hostile, {3}));
  const std::string audio = model.write(folder_, "sound");
  expect_refusal({"spectrum", audio, "--tensor", hostile}, kUsage, {"evil", "[3]"});
  expect_refusal({"spectrum", audio, "--tensor", hostile + "x"}, kUsage, {"evil"});
  expect_refusal({"spectrum", path(hostile)}, kIo, {"evil"});
  expect_refusal({hostile}, kUsage, {"evil"});
  expect_refusal({"spectrum", audio, "--matrix", hostile}, kUsage, {"evil"});
  expect_refusal({"spectrum", audio, "--" + hostile}, kUsage, {"evil"});
  expect_refusal({"spectrum", audio, "--out", path("absent/" + hostile)}, kIo, {"evil"});
  with_config("hostile config", "model_type", hostile);
  expect_refusal({"info", path("hostile config")}, kUnsupported, {"evil"});
  const std::string header = json{{hostile, {{"dtype", "F32"}}}}.dump();
  with_weights("hostile header", safetensors_with_header(header, 0));
  expect_refusal({"info", path("hostile header")}, kBadFile, {"evil"});
}

}  // namespace
}  // namespace attnscope::test
