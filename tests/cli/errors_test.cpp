// Every way to be refused: one line on stderr, nothing on stdout, the exit code of its kind.
#include "tests/cli/command_line.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

struct Refusal {
  std::string what;
  Words arguments;
  Words said;  // what the line must hold
};

void expect_refusals(int exit_code, const std::vector<Refusal>& refusals,
                     const RunOptions& options = {}) {
  for (const auto& [what, arguments, said] : refusals) {
    SCOPED_TRACE(what);
    expect_refusal(arguments, exit_code, said, options);
  }
}

constexpr int kErrorsUsage = 2, kIo = 3, kErrorsBadFile = 4, kUnsupported = 5;

TEST(CliErrors, KernelsThatAreNone) {
  for (const char* wish : {"AVX2", "avx512", " none"}) {
    expect_refusals(kErrorsUsage,
                    {{wish, {"spectrum", data_path("llama")}, {"ATTNSCOPE_KERNELS", wish}}},
                    {.environment = {{"ATTNSCOPE_KERNELS", wish}}});
  }
  output_of({"info", "--system"}, {.environment = {{"ATTNSCOPE_KERNELS", ""}}});
}

TEST(CliErrors, Usage) {
  const std::string llama = data_path("llama"), bert = data_path("bert"), gpt2 = data_path("gpt2");
  const Words spectrum = {"spectrum", llama}, matrix = {"matrix", llama};
  const Words layer0 = {"--layer", "0", "--matrix"};
  expect_refusals(
      kErrorsUsage,
      {
          {"a mistyped command", {"spectrm", llama}, {"spectrm", "'spectrum'"}},
          {"no such command", {"zzzzzzzz"}, {"zzzzzzzz", "info", "spectrum", "matrix"}},
          {"an empty command", {""}, {}},
          {"a mistyped option", spectrum + Words{"--enrgy", "0.9"}, {"--enrgy", "'--energy'"}},
          {"a mistyped flag", {"info", llama, "--quite"}, {"--quite", "'--quiet'"}},
          {"a mistyped option with its value",
           spectrum + Words{"--thread=2"},
           {"--thread", "'--threads'"}},
          {"an option of another command",
           {"info", llama, "--energy", "0.9"},
           {"--energy", "info"}},
          {"an option before the command", {"--quiet", "spectrum", llama}, {"--quiet"}},
          {"an option without its value", spectrum + Words{"--energy"}, {"--energy"}},
          {"an option twice", spectrum + Words{"--threads", "1", "--threads", "2"}, {"--threads"}},

          {"a mistyped matrix", spectrum + Words{"--matrix", "gat"}, {"'gat'", "'gate'"}},
          {"no such matrix", spectrum + Words{"--matrix", "q,x"}, {"--matrix", "'x'", "qk"}},
          {"an empty matrix", spectrum + Words{"--matrix", "q,"}, {"--matrix"}},
          {"a matrix that the model lacks",
           {"spectrum", bert, "--matrix", "gate"},
           {"--matrix", "bert", "'gate'"}},
          {"a matrix that no model has",
           {"spectrum", bert, gpt2, "--matrix", "q,gate"},
           {"--matrix", "'gate'"}},
          {"a mistyped format", spectrum + Words{"--format", "jsn"}, {"'jsn'", "'json'"}},
          {"no such format", {"info", llama, "--format", "xml"}, {"'xml'", "table", "csv", "json"}},
          {"no such progress", spectrum + Words{"--progress", "sometimes"}, {"--progress"}},

          {"layers: no number", spectrum + Words{"--layers", "x"}, {"--layers", "'x'"}},
          {"layers: half a number", spectrum + Words{"--layers", "0x1"}, {"--layers", "'0x1'"}},
          {"layers: a range to nowhere",
           spectrum + Words{"--layers", "0-x"},
           {"--layers", "'0-x'"}},
          {"layers: an empty part", spectrum + Words{"--layers", "0,,1"}, {"--layers"}},
          {"layers: backwards", spectrum + Words{"--layers", "1-0"}, {"--layers", "'1-0'"}},
          {"layers: too high", spectrum + Words{"--layers", "2"}, {"--layers", "'2'", "llama"}},
          {"layers: a range that ends too high",
           spectrum + Words{"--layers", "0-2"},
           {"--layers", "llama"}},
          {"layers: too low", spectrum + Words{"--layers", "-3"}, {"--layers", "'-3'", "llama"}},
          {"layers: beyond 64 bits",
           spectrum + Words{"--layers", "99999999999999999999"},
           {"--layers"}},

          {"energy 0", spectrum + Words{"--energy", "0"}, {"--energy", "'0'"}},
          {"energy 1", spectrum + Words{"--energy", "1"}, {"--energy", "'1'"}},
          {"energy nan", spectrum + Words{"--energy", "nan"}, {"--energy", "'nan'"}},
          {"energy inf", spectrum + Words{"--energy", "inf"}, {"--energy", "'inf'"}},
          {"energy below 0", spectrum + Words{"--energy", "-0.5"}, {"--energy", "'-0.5'"}},
          {"energy in percent", spectrum + Words{"--energy", "0.9,90"}, {"--energy", "'90'"}},
          {"energy with a unit", spectrum + Words{"--energy", "0.9x"}, {"--energy", "'0.9x'"}},
          {"energy with an empty part", spectrum + Words{"--energy", "0.9,"}, {"--energy"}},

          {"no threads", spectrum + Words{"--threads", "0"}, {"--threads", "'0'"}},
          {"threads below 0", spectrum + Words{"--threads", "-2"}, {"--threads", "'-2'"}},
          {"half a thread", spectrum + Words{"--threads", "1.5"}, {"--threads", "'1.5'"}},
          {"threads: no number", spectrum + Words{"--threads", "all"}, {"--threads", "'all'"}},
          {"threads beyond 64 bits",
           spectrum + Words{"--threads", "99999999999999999999"},
           {"--threads"}},

          {"no memory", spectrum + Words{"--memory", "0G"}, {"--memory", "'0G'", "512M"}},
          {"memory without a unit", spectrum + Words{"--memory", "2"}, {"--memory", "'2G'"}},
          {"memory: no size", {"weights", llama, "--memory", "lots"}, {"--memory", "'lots'"}},
          {"memory: a mistyped unit",
           {"circuits", llama, "--memory", "2GBs"},
           {"--memory", "'2GB'"}},

          {"matrix without a layer", matrix + Words{"--matrix", "q"}, {"--layer"}},
          {"matrix without a matrix", matrix + Words{"--layer", "0"}, {"--matrix"}},
          {"one .npy file for several models",
           {"matrix", llama, gpt2, "--layer", "0", "--matrix", "q", "--out", "both.npy"},
           {"--out", "one model"}},
          {"matrix without a model", {"matrix", "--layer", "0", "--matrix", "q"}, {"MODEL"}},
          {"a list where one matrix is needed",
           matrix + layer0 + Words{"q,k"},
           {"--matrix", "'q,k'"}},
          {"matrix: layer too high", matrix + Words{"--layer", "2", "--matrix", "q"}, {"--layer"}},
          {"matrix: layer too low", matrix + Words{"--layer", "-3", "--matrix", "q"}, {"--layer"}},
          {"matrix: no layer number", matrix + Words{"--layer", "x", "--matrix", "q"}, {"--layer"}},
          {"query head too high", matrix + layer0 + Words{"q", "--head", "4"}, {"--head", "llama"}},
          {"key head too high", matrix + layer0 + Words{"k", "--head", "2"}, {"--head", "llama"}},
          {"circuit head too high", matrix + layer0 + Words{"ov", "--head", "4"}, {"--head"}},
          {"head below 0", matrix + layer0 + Words{"q", "--head", "-1"}, {"--head"}},
          {"a head of the MLP", matrix + layer0 + Words{"up", "--head", "0"}, {"--head"}},
          {"a matrix that the model lacks",
           {"matrix", gpt2, "--layer", "0", "--matrix", "gate"},
           {"--matrix", "gpt2", "'gate'"}},
          {"two formats at once",
           matrix + layer0 + Words{"q", "--out", "w.npy", "--format", "csv"},
           {"--format"}},

          {"info without a model", {"info"}, {"MODEL"}},
          {"spectrum without a model", {"spectrum", "--per-head"}, {"MODEL"}},
          {"a model beside --system", {"info", llama, "--system"}, {"--system"}},

          {"a mistyped tensor",
           {"spectrum", gpt2, "--tensor", "transformer.wte.weigth"},
           {"--tensor", "'transformer.wte.weight'"}},
          {"no such tensor", {"spectrum", gpt2, "--tensor", "x"}, {"--tensor", "'x'"}},
          {"a vector for a matrix",
           {"spectrum", gpt2, "--tensor", "transformer.ln_f.weight"},
           {"--tensor", "'transformer.ln_f.weight'", "[32]"}},
          {"a tensor and a matrix",
           spectrum + Words{"--tensor", "x", "--matrix", "q"},
           {"--tensor"}},
          {"a tensor and layers", spectrum + Words{"--tensor", "x", "--layers", "0"}, {"--tensor"}},
          {"a rank of 0", spectrum + Words{"--rank", "0"}, {"--rank", "'0'"}},
          {"a negative rank", spectrum + Words{"--rank", "-3"}, {"--rank", "'-3'"}},
          {"a rank that is no whole number",
           spectrum + Words{"--rank", "2.5"},
           {"--rank", "'2.5'"}},
          {"a rank of words", spectrum + Words{"--rank", "many"}, {"--rank", "'many'"}},
          {"a rank that is empty", spectrum + Words{"--rank", "8,,9"}, {"--rank", "''"}},
          {"a rank beyond every matrix",
           spectrum + Words{"--rank", "99999999999999999999"},
           {"--rank"}},
          {"a share of nothing", spectrum + Words{"--rank", "D"}, {"--rank", "'D'"}},
          {"a share of zero", spectrum + Words{"--rank", "0D"}, {"--rank", "'0D'"}},
          {"more than the width", spectrum + Words{"--rank", "1.5D"}, {"--rank", "'1.5D'"}},
          {"a share of something else", spectrum + Words{"--rank", "0.1F"}, {"--rank", "'0.1F'"}},
          {"a share of a width that a tensor has not",
           {"spectrum", gpt2, "--tensor", "transformer.wte.weight", "--rank", "0.1D"},
           {"--rank", "'0.1D'"}},
          {"latent ranks and a matrix",
           spectrum + Words{"--mla", "--matrix", "q"},
           {"--mla", "--matrix"}},
          {"latent ranks and heads", spectrum + Words{"--mla", "--per-head"}, {"--per-head"}},
          {"latent ranks and ranks", spectrum + Words{"--mla", "--rank", "3"}, {"--rank"}},
          {"latent ranks and values", spectrum + Words{"--mla", "--values"}, {"--values"}},
          {"latent ranks and a tensor", spectrum + Words{"--mla", "--tensor", "x"}, {"--tensor"}},
          {"a stacked head too high",
           matrix + layer0 + Words{"kv", "--head", "2"},
           {"--head", "llama"}},
          {"a tensor and heads", spectrum + Words{"--tensor", "x", "--per-head"}, {"--tensor"}},
      });
}

TEST(CliErrors, AValueThatShouldFollowAnEqualsSign) {
  const std::string llama = data_path("llama");
  for (const char* value : {"centred", "center", "gain"}) {
    expect_refusal({"circuits", llama, "--fold-norm", value}, kErrorsUsage,
                   {"--fold-norm: its value"});
  }
  expect_refusal({"circuits", "--fold-norm", "centred", llama}, kErrorsUsage,
                 {"--fold-norm=centred"});
  // A model may have such a name.
  const TempFolder folder;
  fs::copy(llama, folder.path() / "gain");
  EXPECT_EQ(output_of({"circuits", "--fold-norm", "gain"}, {.folder = folder.path()}),
            output_of({"circuits", "gain", "--fold-norm=gain"}, {.folder = folder.path()}));
}

TEST(CliErrors, AFileOfNoKnownFormatNamesAllThatAreRead) {
  const TempFolder folder;
  const Words all = {".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf", "index"};
  folder.write("weights.xyz", "weights");
  folder.write("empty/notes.txt", "");
  expect_refusal({"info", (folder.path() / "weights.xyz").string()}, kUnsupported, all);
  expect_refusal({"info", (folder.path() / "empty").string()}, kIo, all);
}

TEST(CliErrors, ATextThatIsTooShortForOneSequence) {
  const TempFolder folder;
  const std::string text = folder.write("short.txt", "To be").string();
  const Words attention = {"attention", source_path("examples/shakespeare-gpt2"), "--text-file",
                           text};
  expect_refusal(attention, kErrorsUsage, {"fewer than the 100 of one sequence", "or --length"});
  expect_refusal(attention + Words{"--length", "1", "--sequences", "99"}, kErrorsUsage,
                 {"not for the 99 of --sequences"});
}

TEST(CliErrors, RemoteHasNoEffectOnWhatIsHere) {
  const std::string llama = data_path("llama");
  for (const Words& command :
       {Words{"spectrum", llama}, Words{"spectrum", llama, "--tensor", "lm_head.weight"}}) {
    const RunResult run = run_attnscope(command + Words{"--remote"});
    EXPECT_EQ(run.out, output_of(command));
    EXPECT_EQ(run.err, "attnscope: warning: --remote: has no effect on '" + llama +
                           "', which is on this machine\n");
    EXPECT_EQ(output_of(command + Words{"--remote", "--quiet"}), run.out);
  }
}

TEST(CliErrors, ListsMayHaveBlanks) {
  const std::string llama = data_path("llama");
  const auto printed = [&](const Words& options) {
    return output_of(Words{"spectrum", llama, "--format", "json"} + options);
  };
  EXPECT_EQ(printed({"--matrix", "q, k", "--energy", "0.5, 0.9", "--layers", " 0 , -1 "}),
            printed({"--matrix", "q,k", "--energy", "0.5,0.9", "--layers", "0,-1"}));
  EXPECT_EQ(printed({"--rank", "3, 0.1D"}), printed({"--rank", "3,0.1D"}));
  EXPECT_EQ(output_of({"weights", llama, "--histogram", "--range", "-0.1, 0.2"}),
            output_of({"weights", llama, "--histogram", "--range", "-0.1,0.2"}));
  EXPECT_EQ(output_of({"similarity", llama, "--head-matrix", "0, 1"}),
            output_of({"similarity", llama, "--head-matrix", "0,1"}));
  expect_refusal({"spectrum", llama, "--matrix", "q, "}, kErrorsUsage, {"--matrix"});
}

TEST(CliErrors, MistypedOptionWithoutACommandIsSuggested) {
  expect_refusal({"--versoin"}, kErrorsUsage, {"--versoin", "--version"});
  expect_refusal({"--hlep"}, kErrorsUsage, {"--hlep", "--help"});
}

TEST(CliErrors, SwappedLettersAreSuggested) {
  const std::string llama = data_path("llama");
  expect_refusal({"ifno", llama}, kErrorsUsage, {"did you mean 'info'"});
  expect_refusal({"spectrum", llama, "--matrix", "dwon"}, kErrorsUsage, {"did you mean 'down'"});
  expect_refusal({"spectrum", llama, "--format", "cvs"}, kErrorsUsage, {"did you mean 'csv'"});
}

TEST(CliErrors, ALayerThatOneOfSeveralModelsLacksNamesThatModel) {
  // albert has 4 layers, gpt2 has 2.
  expect_refusal({"spectrum", data_path("albert"), data_path("gpt2"), "--layers", "3"},
                 kErrorsUsage, {"--layers", "gpt2"});
}

TEST(CliErrors, Io) {
  const TempFolder folder;
  const std::string root = folder.path().string();
  TinyLlama().write(folder, "no-config");
  fs::remove(folder.path() / "no-config/config.json");
  folder.write("no-weights/config.json", TinyLlama().config.dump());
  folder.write("missing-shard/config.json", TinyLlama().config.dump());
  folder.write("missing-shard/model.safetensors.index.json",
               R"({"weight_map": {"lm_head.weight": "model-00001-of-00001.safetensors"}})");
  folder.write("a-file", "");
  const std::string llama = data_path("llama");
  std::vector<Refusal> refusals = {
      {"no such model",
       {"spectrum", root + "/absent"},
       {root + "/absent", "hub is named ORG/NAME"}},
      {"the name of a model on a hub",
       {"info", "openai/gpt2"},
       {"openai/gpt2", "no such file or folder"}},
      {"a model without a name", {"info", ""}, {}},
      {"a second model that is absent", {"spectrum", llama, root + "/absent"}, {"/absent"}},
      {"a path below a file", {"info", root + "/a-file/model"}, {"/a-file/model"}},
      {"no config.json", {"spectrum", root + "/no-config"}, {"config.json", "--layout"}},
      {"no config.json beside a file",
       {"info", root + "/no-config/model.safetensors"},
       {"config.json"}},
      {"no weights", {"info", root + "/no-weights"}, {"no-weights", ".safetensors"}},
      {"a shard that is absent",
       {"spectrum", root + "/missing-shard"},
       {"model-00001-of-00001.safetensors", "model.safetensors.index.json"}},
      {"no layout file", {"info", llama, "--layout", root + "/absent.json"}, {"/absent.json"}},
      {"a layout that is a folder", {"info", llama, "--layout", root}, {root}},
  };
  for (const Words& command : {Words{"spectrum", llama}, Words{"info", llama},
                               Words{"matrix", llama, "--layer", "0", "--matrix", "q"}}) {
    refusals.push_back({"no such folder for the output",
                        command + Words{"--out", root + "/absent/out"},
                        {root + "/absent/out"}});
    refusals.push_back({"output below a file",
                        command + Words{"--out", root + "/a-file/out"},
                        {root + "/a-file/out"}});
    refusals.push_back({"a folder as output", command + Words{"--out", root}, {root}});
  }
  expect_refusals(kIo, refusals);
  EXPECT_EQ(files_in(folder.path()), (Words{"a-file", "missing-shard", "no-config", "no-weights"}));
}

TEST(CliErrors, OutputThatDoesNotFit) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "needs /dev/full";
  const std::string llama = data_path("llama");
  for (const Words& command : {Words{"spectrum", llama}, Words{"info", llama, "--format", "csv"},
                               Words{"matrix", llama, "--layer", "0", "--matrix", "q"}}) {
    expect_refusal(command, kIo, {"stdout"}, {.out = Reader::full});
    expect_refusal(command + Words{"--out", "/dev/full"}, kIo, {"/dev/full"});
  }
}

TEST(CliErrors, HelpAndCompletionsThatDoNotFit) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "needs /dev/full";
  for (const Words& command : {Words{"completion", "man"}, Words{"completion", "bash"},
                               Words{"--help"}, Words{"spectrum", "--help"}}) {
    expect_refusal(command, kIo, {"stdout"}, {.out = Reader::full});
  }
}

/// A folder of broken models, each named by its fault.
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
  const std::string sound = safetensors_bytes(TinyLlama().tensors);
  with_weights("empty", "");
  with_weights("shorter than its header says", sound.substr(0, 200));
  with_weights("shorter than its tensors", sound.substr(0, sound.size() - 1));
  with_weights("longer than its tensors", sound + "x");
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
  expect_refusals(kErrorsBadFile, refusals);
  expect_refusals(
      kErrorsBadFile,
      {
          {"what is missing", {"info", path("another prefix")}, {"model.layers.0."}},
          {"which shape", {"info", path("another width")}, {"[16, 16]", "[16, 8]"}},
          {"which numbers", {"info", path("heads do not divide")}, {"4", "3"}},
          {"which dtype", {"info", path("unknown dtype")}, {"'F7'"}},
          {"that it was cut", {"info", path("shorter than its tensors")}, {"truncated"}},
      });
}

TEST_F(BrokenModels, Unsupported) {
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
  TinyLlama quantised;
  quantised.config["quantization_config"] = {{"quant_method", "quanto"}};
  std::erase_if(quantised.tensors, [](const TensorToWrite& tensor) {
    return tensor.name == TinyLlama::attention_name(0, 'q');
  });
  quantised.write(folder_, "quantised");

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

  // What cannot be decoded is listed all the same, and is in nobody's way.
  const json report = report_of({"info", path("undecoded")});
  const auto listed = std::find_if(report["rows"].begin(), report["rows"].end(),
                                   [&](const json& row) { return row["name"] == q; });
  ASSERT_NE(listed, report["rows"].end());
  EXPECT_EQ((*listed)["dtype"], "F4");
  EXPECT_EQ((*listed)["bytes"], 128);
  EXPECT_EQ((*listed)["role"], "q");
  EXPECT_EQ(report_of({"spectrum", path("undecoded"), "--matrix", "k,v"})["rows"].size(), 4u);
}

TEST_F(BrokenModels, AMistypedArchitectureIsSuggested) {
  with_config("lama", "model_type", "lama");
  with_config("gpt-neox", "model_type", "gpt-neox");
  expect_refusal({"info", path("lama")}, kUnsupported, {"'lama'", "did you mean 'llama'"});
  expect_refusal({"info", path("gpt-neox")}, kUnsupported, {"did you mean 'gpt_neox'"});
  // Near, and of another kind: all that transformers knows, and generations to come.
  for (const char* other :
       {"llava",  "llama4", "mixtral", "mllama",   "ministral", "mistral3", "pixtral", "bart",
        "plbart", "beit",   "ibert",   "hubert",   "deberta",   "dpt",      "gptj",    "gemma3n",
        "gemma4", "qwen4",  "qwen3_5", "t5gemma2", "phi5",      "gpt3"}) {
    with_config(other, json{{"model_type", other}}.dump());
    const RunResult run = run_attnscope({"info", path(other)});
    EXPECT_TRUE(contains(run.err, "is not known; known: albert")) << other << ": " << run.err;
    EXPECT_TRUE(contains(run.err, "(describe others with --layout FILE.json)")) << run.err;
  }
}

TEST_F(BrokenModels, NamesFromFilesCannotDriveTheTerminal) {
  // ESC, a line feed, DEL, and CSI as one C1 character.
  const std::string hostile =
      "evil\x1b[31m\n\x7f\xc2\x9b"
      "2J";
  TinyLlama model;
  model.tensors.push_back(counting_tensor(hostile, {3}));
  const std::string sound = model.write(folder_, "sound");
  expect_refusal({"spectrum", sound, "--tensor", hostile}, kErrorsUsage, {"evil", "[3]"});
  expect_refusal({"spectrum", sound, "--tensor", hostile + "x"}, kErrorsUsage, {"evil"});
  expect_refusal({"spectrum", path(hostile)}, kIo, {"evil"});
  expect_refusal({hostile}, kErrorsUsage, {"evil"});
  expect_refusal({"spectrum", sound, "--matrix", hostile}, kErrorsUsage, {"evil"});
  expect_refusal({"spectrum", sound, "--" + hostile}, kErrorsUsage, {"evil"});
  expect_refusal({"spectrum", sound, "--out", path("absent/" + hostile)}, kIo, {"evil"});
  with_config("hostile config", "model_type", hostile);
  expect_refusal({"info", path("hostile config")}, kUnsupported, {"evil"});
  const std::string header = json{{hostile, {{"dtype", "F32"}}}}.dump();
  with_weights("hostile header", safetensors_with_header(header, 0));
  expect_refusal({"info", path("hostile header")}, kErrorsBadFile, {"evil"});
}

}  // namespace
}  // namespace attnscope::test
