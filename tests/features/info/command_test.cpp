// `info`: model info, and every tensor with its role.
#include <map>

#include "tests/support/safetensors_writer.h"
#include "tests/support/stored_tensor.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

/// Every tensor of a folder's weight files by name, as listed in the headers.
json stored_tensors(const std::string& folder) {
  json tensors = json::object();
  for (const std::string& file : files_in(folder)) {
    if (file.ends_with(".safetensors")) tensors.update(tensor_headers(fs::path(folder) / file));
  }
  return tensors;
}

std::int64_t element_count(const json& shape) {
  std::int64_t count = 1;
  for (const json& size : shape) count *= size.get<std::int64_t>();
  return count;
}

json tensor_row(const json& report, const std::string& name) {
  for (const json& row : report["rows"]) {
    if (row["name"] == name) return row;
  }
  ADD_FAILURE() << "no row for " << name;
  return {};
}

TEST(CliInfo, EveryTensorOfEveryModelHasARow) {
  for (const std::string& name : data_names()) {
    SCOPED_TRACE(name);
    const json report = report_of({"info", data_path(name)});
    EXPECT_EQ(report["command"], "info");
    const json& facts = report["models"][0];
    json stored = stored_tensors(data_path(name));
    std::int64_t parameters = 0;
    for (const json& row : report["rows"]) {
      EXPECT_EQ(keys_of(row),
                sorted({"model", "name", "dtype", "shape", "bytes", "role", "layer", "tied_to"}));
      EXPECT_EQ(row["model"], name);
      EXPECT_TRUE(row["layer"].is_null() || row["layer"].is_number_integer());
      const bool own = stored.contains(row["name"].get<std::string>());
      EXPECT_TRUE(own || !row["tied_to"].is_null()) << row;
      if (!own) continue;
      const json& entry = stored[row["name"].get<std::string>()];
      EXPECT_EQ(row["dtype"], entry["dtype"]);
      EXPECT_EQ(row["shape"], entry["shape"]);
      const json& offsets = entry["data_offsets"];
      EXPECT_EQ(row["bytes"], offsets[1].get<int>() - offsets[0].get<int>());
      // A tied or shared tensor counts once, and buffers do not count.
      if (row["tied_to"].is_null() && row["role"] != "buffer") {
        parameters += element_count(row["shape"]);
      }
      stored.erase(row["name"].get<std::string>());
    }
    EXPECT_TRUE(stored.empty()) << "without a row: " << stored;
    EXPECT_EQ(facts["parameters"], parameters);
    EXPECT_LT(facts["attention_parameters"], facts["parameters"]);
  }
}

/// Two layers of nn.TransformerEncoderLayer(16, 4, 32), with an embedding.
fs::path torch_layers(const TempFolder& folder) {
  std::vector<TensorToWrite> tensors = {counting_tensor("embedding.weight", {30, 16})};
  for (const std::string layer : {"encoder.layers.0.", "encoder.layers.1."}) {
    tensors.push_back(counting_tensor(layer + "self_attn.in_proj_weight", {48, 16}));
    tensors.push_back(counting_tensor(layer + "self_attn.in_proj_bias", {48}));
    tensors.push_back(counting_tensor(layer + "self_attn.out_proj.weight", {16, 16}));
    tensors.push_back(counting_tensor(layer + "linear1.weight", {32, 16}));
    tensors.push_back(counting_tensor(layer + "linear2.weight", {16, 32}));
  }
  return folder.write("model.safetensors", safetensors_bytes(tensors));
}

TEST(CliInfo, ListsTensorsThatNoConfigDescribes) {
  const TempFolder folder;
  const std::string file =
      folder.write("w.safetensors", safetensors_bytes({counting_tensor("a.b", {2, 3})})).string();
  const RunResult run = run_attnscope({"info", file, "--format", "json"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_TRUE(contains(run.err, "no config.json describes the model")) << run.err;
  const json report = json::parse(run.out);
  ASSERT_EQ(report["rows"].size(), 1u);
  EXPECT_EQ(report["rows"][0]["name"], "a.b");
  EXPECT_EQ(report["rows"][0]["shape"], (json{2, 3}));
  EXPECT_EQ(report["rows"][0]["role"], "other");
  EXPECT_FALSE(report["models"][0].contains("architecture"));
  EXPECT_EQ(run_attnscope({"spectrum", file}).exit_code, 3);
}

TEST(CliInfo, SuggestsALayoutForLayersOfTorch) {
  const TempFolder folder;
  const std::string file = torch_layers(folder).string();
  const std::string layout = (folder.path() / "layout.json").string();
  EXPECT_TRUE(contains(run_attnscope({"spectrum", file}).err, "--suggest-layout FILE.json"));
  const RunResult suggested = run_attnscope({"info", file, "--suggest-layout", layout});
  EXPECT_EQ(suggested.exit_code, 0);
  EXPECT_TRUE(contains(suggested.err, "set 'heads'")) << suggested.err;
  EXPECT_TRUE(
      contains(run_attnscope({"spectrum", file, "--layout", layout}).err, "has no 'heads'"));
  json described = json::parse(read_file(layout));
  described["heads"] = 4;
  folder.write("layout.json", described.dump());
  const json info = report_of({"info", file, "--layout", layout});
  EXPECT_EQ(tensor_row(info, "encoder.layers.1.self_attn.in_proj_weight")["role"], "q+k+v");
  EXPECT_EQ(tensor_row(info, "encoder.layers.1.linear1.weight")["role"], "up");
  EXPECT_EQ(info["models"][0]["head_dim"], 4);
  EXPECT_EQ(info["models"][0]["causal"], false);
}

TEST(CliInfo, ProjectionsHaveRolesAndLayers) {
  const json llama = report_of({"info", data_path("llama")});
  EXPECT_EQ(tensor_row(llama, "model.layers.1.self_attn.k_proj.weight")["role"], "k");
  EXPECT_EQ(tensor_row(llama, "model.layers.1.self_attn.k_proj.weight")["layer"], 1);
  EXPECT_EQ(tensor_row(llama, "model.embed_tokens.weight")["role"], "embedding");
  EXPECT_EQ(tensor_row(llama, "model.embed_tokens.weight")["layer"], nullptr);
  EXPECT_EQ(tensor_row(llama, "lm_head.weight")["role"], "lm_head");
  const json gpt2 = report_of({"info", data_path("gpt2")});
  EXPECT_EQ(tensor_row(gpt2, "transformer.h.0.attn.c_attn.weight")["role"], "q+k+v");
  EXPECT_EQ(tensor_row(gpt2, "transformer.h.0.attn.c_attn.bias")["role"], "q+k+v.bias");
  EXPECT_EQ(tensor_row(gpt2, "transformer.wpe.weight")["role"], "position_embedding");
}

// The LM head of an encoder is recognized by the tensor names.
TEST(CliInfo, RecognizesTheHeadOfEncoders) {
  const struct {
    std::string name, head, embedding;
  } cases[] = {
      {"albert", "predictions.", "albert.embeddings.word_embeddings.weight"},
      {"bert", "cls.predictions.", "bert.embeddings.word_embeddings.weight"},
      {"distilbert", "vocab_", "distilbert.embeddings.word_embeddings.weight"},
      {"roberta", "lm_head.", "roberta.embeddings.word_embeddings.weight"},
  };
  for (const auto& [name, head, embedding] : cases) {
    SCOPED_TRACE(name);
    const json report = report_of({"info", data_path(name)});
    EXPECT_EQ(tensor_row(report, embedding)["role"], "embedding");
    int of_head = 0;
    for (const json& row : report["rows"]) {
      const bool is_head = row["role"].get<std::string>().starts_with("lm_head");
      EXPECT_EQ(is_head, row["name"].get<std::string>().starts_with(head)) << row;
      of_head += is_head ? 1 : 0;
    }
    EXPECT_GT(of_head, 1);
  }
}

TEST(CliInfo, ModelInfoEqualsTheConfig) {
  const json facts = report_of({"info", data_path("llama")})["models"][0];
  EXPECT_EQ(facts["layers"], 2);
  EXPECT_EQ(facts["heads"], 4);
  EXPECT_EQ(facts["kv_heads"], 2);
  EXPECT_EQ(facts["head_dim"], 8);
  EXPECT_EQ(facts["hidden_size"], 32);
  EXPECT_EQ(facts["intermediate_size"], 48);
  EXPECT_EQ(facts["vocab_size"], 40);
  EXPECT_EQ(facts["context_length"], 64);
  EXPECT_EQ(facts["tied_embedding"], false);
  EXPECT_EQ(facts["kv_cache_bytes_per_token"], 2 * 2 * 2 * (8 + 8));  // 2 L G (d + d_v)
  EXPECT_EQ(facts["attention_parameters"], 2 * (32 * 32 + 16 * 32 + 16 * 32 + 32 * 32));
  std::uintmax_t bytes = 0;
  for (const std::string& file : files_in(data_path("llama"))) {
    if (file.ends_with(".safetensors")) bytes += fs::file_size(data_path("llama") + "/" + file);
  }
  EXPECT_EQ(facts["bytes"], bytes);
}

TEST(CliInfo, ALongNameHasItsOwnLine) {
  const RunResult run = run_attnscope({"info", data_path("albert"), "--format", "table"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const std::string key =
      "albert.encoder.albert_layer_groups.{0-1}.albert_layers.0.attention.key.weight";
  bool found = false;
  const Words lines = lines_of(run.out);
  for (std::size_t line = 0; line + 1 < lines.size(); ++line) {
    EXPECT_LE(lines[line].size(), 100u) << lines[line];
    if (lines[line] != key) continue;
    found = true;
    EXPECT_EQ(words_of(lines[line + 1]).front(), "k");
  }
  EXPECT_TRUE(found) << run.out;
}

TEST(CliInfo, EncodersHaveNoKeyValueCache) {
  for (const std::string name : {"albert", "bert", "bert-old", "distilbert", "roberta"}) {
    EXPECT_EQ(report_of({"info", data_path(name)})["models"][0]["kv_cache_bytes_per_token"],
              nullptr)
        << name;
  }
}

TEST(CliInfo, CountsATensorStoredTwiceOnce) {
  const TempFolder folder;
  TinyLlama once;
  const std::string path_once = once.write(folder, "two-tensors");
  TinyLlama twice;
  twice.config["tie_word_embeddings"] = true;
  twice.tensor("lm_head.weight").bytes = twice.tensor("model.embed_tokens.weight").bytes;
  const json report = report_of({"info", twice.write(folder, "same-bytes")});
  EXPECT_EQ(tensor_row(report, "lm_head.weight")["tied_to"], "model.embed_tokens.weight");
  EXPECT_EQ(report["models"][0]["tied_embedding"], true);
  const int both = report_of({"info", path_once})["models"][0]["parameters"];
  EXPECT_EQ(report["models"][0]["parameters"], both - 10 * TinyLlama::kWidth);
}

TEST(CliInfo, AnAliasInTheMetadataHasItsOwnRow) {
  const TempFolder folder;
  TinyLlama model;
  model.config["tie_word_embeddings"] = true;
  std::erase_if(model.tensors,
                [](const TensorToWrite& tensor) { return tensor.name == "lm_head.weight"; });
  model.metadata = {{"format", "pt"}, {"lm_head.weight", "model.embed_tokens.weight"}};
  const std::string path = model.write(folder, "alias");
  const json report = report_of({"info", path});
  const json alias = tensor_row(report, "lm_head.weight");
  EXPECT_EQ(alias["tied_to"], "model.embed_tokens.weight");
  EXPECT_EQ(alias["role"], "lm_head");
  EXPECT_EQ(alias["shape"], (json{10, 16}));
  EXPECT_EQ(alias["bytes"], 0);
  EXPECT_EQ(report["models"][0]["tied_embedding"], true);
  EXPECT_EQ(report["rows"].size(), model.tensors.size() + 1);
  // The alias is accepted wherever a tensor name is.
  const json by_alias = report_of({"spectrum", path, "--tensor", "lm_head.weight", "--values"});
  const json by_name =
      report_of({"spectrum", path, "--tensor", "model.embed_tokens.weight", "--values"});
  EXPECT_EQ(by_alias["rows"][0]["singular_values"], by_name["rows"][0]["singular_values"]);
}

/// The number of tensors that the lists of a table represent.
std::size_t listed_tensors(const std::string& table) {
  std::size_t tensors = 0;
  bool listing = false;
  for (const std::string& line : lines_of(table)) {
    const Words words = words_of(line);
    if (words.empty()) {
      listing = false;
    } else if (words.front() == "name") {
      listing = true;
    } else if (listing && words.size() > 3) {  // not a line with only a long name
      tensors += std::stoul(words.at(words.size() - 2));
    }
  }
  return tensors;
}

TEST(CliInfo, TheTableCountsEveryTensor) {
  for (const std::string name : {"llama", "albert", "gpt_neox"}) {
    const Words command = {"info", data_path(name)};
    EXPECT_EQ(listed_tensors(output_of(command)), report_of(command)["rows"].size()) << name;
  }
}

TEST(CliInfo, CountsAModelNamedTwiceOnce) {
  const Words command = {"info", data_path("llama"), data_path("llama")};
  EXPECT_EQ(listed_tensors(output_of(command)), report_of(command)["rows"].size());
}

TEST(CliInfo, ScalarsAndEmptyTensorsAreListed) {
  const TempFolder folder;
  TinyLlama model;
  model.tensors.push_back(counting_tensor("scalar", {}));
  model.tensors.push_back(counting_tensor("empty", {0, 3}));
  const std::string path = model.write(folder, "odd-shapes");
  const json report = report_of({"info", path});
  EXPECT_EQ(tensor_row(report, "scalar")["shape"], json::array());
  EXPECT_EQ(tensor_row(report, "scalar")["bytes"], 4);
  EXPECT_EQ(tensor_row(report, "empty")["shape"], (json{0, 3}));
  EXPECT_EQ(tensor_row(report, "empty")["bytes"], 0);
  EXPECT_EQ(csv_of({"info", path}).rows.size(), report["rows"].size());
  EXPECT_EQ(listed_tensors(output_of({"info", path})), report["rows"].size());
  expect_refusal({"spectrum", path, "--tensor", "scalar"}, 2, {"--tensor", "'scalar'"});
  expect_refusal({"spectrum", path, "--tensor", "empty"}, 2, {"--tensor", "'empty'"});
}

TEST(CliInfo, NamesSkippedTowersOfAMultimodalCheckpoint) {
  for (const char* command : {"info", "spectrum"}) {
    const RunResult run = run_attnscope({command, data_path("gemma3-multimodal")});
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_TRUE(contains(run.err,
                         "gemma3-multimodal/model.safetensors: only its language model "
                         "is analyzed; skipped: 'multi_modal_projector' (2 tensors), "
                         "'vision_tower' (21 tensors)\n"))
        << run.err;
    EXPECT_EQ(without_notes_on_towers(run.err), "");
  }
}

TEST(CliInfo, SystemDescribesThisMachine) {
  const json report = report_of({"info", "--system"});
  EXPECT_EQ(report["schema"], "attnscope/2");
  std::map<std::string, std::string> items;
  for (const json& row : report["rows"]) items[row["item"]] = row["value"];
  for (const char* item : {"attnscope", "cpu", "memory", "blas"}) {
    EXPECT_FALSE(items[item].empty()) << item;
  }
  EXPECT_TRUE(contains(output_of({"--version"}), items["attnscope"]));
  EXPECT_TRUE(contains(output_of({"info", "--system"}), items["blas"]));
  EXPECT_EQ(csv_of({"info", "--system"}).rows.size(), report["rows"].size());
}

}  // namespace
}  // namespace attnscope::test
