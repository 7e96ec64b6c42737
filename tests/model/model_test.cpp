#include "attnscope/model/model.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "attnscope/model/summary.h"
#include "tests/support/expect_error.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::TempFolder;

const fs::path kModelData = fs::path(ATTNSCOPE_SOURCE_DIR) / "tests" / "data";

/// A copy of a checkpoint of tests/data with some values of its config.json changed.
fs::path changed_copy(const TempFolder& folder, const std::string& name, const json& changes) {
  std::ifstream file(kModelData / name / "config.json");
  json config = json::parse(file);
  config.merge_patch(changes);
  const fs::path config_path = folder.write(name + "/config.json", config.dump());
  fs::copy_file(kModelData / name / "model.safetensors",
                config_path.parent_path() / "model.safetensors",
                fs::copy_options::overwrite_existing);
  return config_path.parent_path();
}

TEST(Model, OpensAWeightsFileNextToItsConfig) {
  const Model model = Model::open(kModelData / "bert" / "model.safetensors");
  EXPECT_EQ(model.name(), "model.safetensors");
  EXPECT_EQ(Model::open(kModelData / "bert", std::nullopt, "mine").name(), "mine");
  EXPECT_EQ(model.spec().architecture.name, "bert");
}

TEST(Model, RequiresAConfig) {
  const TempFolder folder;
  folder.write("model.safetensors", test::safetensors_bytes({}));
  EXPECT_ERROR_SAYING(ErrorKind::io, Model::open(folder.path()),
                      (folder.path() / "config.json").string(), "layout FILE.json");
}

TEST(Model, NamesShapesThatContradictTheConfig) {
  const struct {
    std::string_view fault;
    std::string checkpoint;
    json changes;
    std::string_view tensor, found, expected;
  } cases[] = {
      {"width",
       "bert",
       {{"hidden_size", 64}},
       "bert.encoder.layer.0.attention.self.query.weight",
       "[32, 32]",
       "[64, 64]"},
      {"MLP width",
       "bert",
       {{"intermediate_size", 57}},
       "bert.encoder.layer.0.intermediate.dense.weight",
       "[56, 32]",
       "[57, 32]"},
      {"fused Conv1D",
       "gpt2",
       {{"n_embd", 16}},
       "transformer.h.0.attn.c_attn.weight",
       "[32, 96]",
       "[16, 48]"},
      {"fused per head",
       "gpt_neox",
       {{"hidden_size", 16}},
       "gpt_neox.layers.0.attention.query_key_value.weight",
       "[96, 32]",
       "[48, 16]"},
  };
  for (const auto& [fault, checkpoint, changes, tensor, found, expected] : cases) {
    SCOPED_TRACE(fault);
    const TempFolder folder;
    const fs::path path = changed_copy(folder, checkpoint, changes);
    EXPECT_ERROR_SAYING(ErrorKind::format, Model::open(path), (path / "model.safetensors").string(),
                        tensor, "shape " + std::string(found), "expected " + std::string(expected),
                        (path / "config.json").string());
  }
}

TEST(Model, ShapesMustHaveTwoDimensions) {
  const json config = {
      {"model_type", "gpt_neo"}, {"num_layers", 1}, {"num_heads", 1}, {"hidden_size", 2}};
  const TempFolder folder;
  folder.write("config.json", config.dump());
  const std::string query = "transformer.h.0.attn.attention.q_proj.weight";
  for (const Shape& shape : {Shape{}, Shape{4}, Shape{2, 2, 2}, Shape{0, 2}}) {
    folder.write("model.safetensors",
                 test::safetensors_bytes({test::counting_tensor(query, shape)}));
    EXPECT_ERROR_SAYING(ErrorKind::format, Model::open(folder.path()), query, "expected [2, 2]");
  }
}

TEST(Model, NamesMissingTensorsWhenRequested) {
  const TempFolder folder;
  const fs::path path = changed_copy(folder, "gpt2", {{"n_layer", 3}});
  const Model model = Model::open(path);
  EXPECT_TRUE(model.weight(1, Role::query).missing.empty());
  EXPECT_TRUE(model.has(Role::query, 1));
  const Weight& query = model.weight(2, Role::query);
  EXPECT_EQ(query.tensor, nullptr);
  EXPECT_EQ(query.missing, "tensor 'transformer.h.2.attn.c_attn.weight' is missing");
  EXPECT_FALSE(model.has(Role::query, 2));
  EXPECT_TRUE(model.has(Role::query));
  // GPT-2 has no gate, so nothing is missing from the file.
  EXPECT_EQ(model.weight(0, Role::gate).missing, "gpt2 has no 'gate'");
  EXPECT_FALSE(model.describes(Role::gate));
  EXPECT_EQ(summarize(model).layers, 3);
}

TEST(Model, AttentionTensorsAloneAreEnough) {
  const TempFolder folder;
  folder.write("config.json",
               R"({"model_type":"gpt_neo","num_layers":2,"num_heads":1,"hidden_size":2})");
  std::vector<test::TensorToWrite> tensors;
  for (const char* name : {"q_proj", "k_proj", "v_proj", "out_proj"}) {
    tensors.push_back(test::counting_tensor(
        std::string("transformer.h.1.attn.attention.") + name + ".weight", {2, 2}));
  }
  folder.write("model.safetensors", test::safetensors_bytes(tensors));
  const Model model = Model::open(folder.path());
  for (const Role role : {Role::query, Role::output, Role::qk, Role::ov, Role::kv}) {
    EXPECT_TRUE(model.has(role)) << role_name(role);
    EXPECT_FALSE(model.has(role, 0)) << role_name(role);
    EXPECT_TRUE(model.has(role, 1)) << role_name(role);
  }
  EXPECT_FALSE(model.has(Role::up));
  EXPECT_TRUE(model.describes(Role::up));
  EXPECT_EQ(model.weight(0, Role::up).missing,
            "tensor 'transformer.h.0.mlp.c_fc.weight' is missing");
  const Inventory inventory = take_inventory(model, {});
  EXPECT_EQ(inventory.summary.attention_parameters, 4 * 4);
  EXPECT_EQ(inventory.summary.parameters, 4 * 4);
  EXPECT_EQ(inventory.tensors.front().role, "q");
}

TEST(Model, HalvesOfACircuitInDifferentLayersAreNotACircuit) {
  const TempFolder folder;
  folder.write("config.json",
               R"({"model_type":"gpt_neo","num_layers":2,"num_heads":1,"hidden_size":2})");
  folder.write(
      "model.safetensors",
      test::safetensors_bytes(
          {test::counting_tensor("transformer.h.0.attn.attention.q_proj.weight", {2, 2}),
           test::counting_tensor("transformer.h.1.attn.attention.k_proj.weight", {2, 2})}));
  const Model model = Model::open(folder.path());
  EXPECT_TRUE(model.has(Role::query) && model.has(Role::key));
  EXPECT_FALSE(model.has(Role::qk));
}

// Any existing layer shows the prefix.
TEST(Model, OneShardOfTwoIsEnough) {
  const TempFolder folder;
  folder.write("config.json",
               R"({"model_type":"gpt_neo","num_layers":2,"num_heads":1,"hidden_size":2})");
  const std::string first = "h.0.attn.attention.q_proj.weight";
  const std::string second = "h.1.attn.attention.q_proj.weight";
  folder.write("2.safetensors", test::safetensors_bytes({test::counting_tensor(second, {2, 2})}));
  folder.write("model.safetensors.index.json",
               json{{"weight_map", {{first, "1.safetensors"}, {second, "2.safetensors"}}}}.dump());
  const Model model = Model::open(folder.path());
  EXPECT_EQ(model.prefix(), "");
  EXPECT_TRUE(model.has(Role::query, 1));
  EXPECT_EQ(
      model.weight(0, Role::query).missing,
      "tensor '" + first + "' is missing: the index assigns it to 1.safetensors, which is missing");
}

TEST(Model, WeightsRequireASingleProjection) {
  const Model model = Model::open(kModelData / "llama");
  for (const Role role : {Role::qk, Role::ov, Role::kv}) {
    EXPECT_THROW(model.weight(0, role), std::invalid_argument) << role_name(role);
  }
  EXPECT_THROW(model.weight(model.dimensions().layers, Role::query), std::out_of_range);
  EXPECT_THROW(model.weight(-1, Role::query), std::out_of_range);
}

TEST(Model, AnEmptyFileIsAnError) {
  const TempFolder folder;
  const fs::path path = changed_copy(folder, "gpt2", json::object());
  // If no tensor shows which prefix the file uses, the error names the usual one.
  folder.write("gpt2/model.safetensors", test::safetensors_bytes({}));
  EXPECT_ERROR_SAYING(ErrorKind::format, Model::open(path),
                      "tensor 'transformer.h.0.attn.c_attn.weight' is missing");
}

TEST(Model, NamesTheShardOfMissingTensors) {
  const TempFolder folder;
  folder.write("config.json", R"({"model_type":"gpt2","n_layer":1,"n_head":1,"n_embd":2})");
  folder.write("shard.safetensors", test::safetensors_bytes({}));  // the tensor is missing
  folder.write("model.safetensors.index.json",
               R"({"weight_map":{"transformer.h.0.attn.c_attn.weight":"shard.safetensors"}})");
  EXPECT_ERROR_SAYING(ErrorKind::format, Model::open(folder.path()),
                      "model.safetensors.index.json: tensor 'transformer.h.0.attn.c_attn.weight'",
                      "the index assigns it to shard.safetensors, which does not contain it");
}

TEST(Model, UnknownQuantizationsAreUnsupported) {
  const json quantized = {{"quantization_config", {{"quant_method", "quanto"}}}};
  const TempFolder folder;
  const fs::path path = changed_copy(folder, "bert", quantized);
  // The quantization left these weights unchanged, so the model can be opened.
  EXPECT_NO_THROW(Model::open(path));

  changed_copy(folder, "bert",
               {{"quantization_config", {{"quant_method", "quanto"}}}, {"hidden_size", 64}});
  EXPECT_ERROR_SAYING(ErrorKind::unsupported, Model::open(path), "query.weight", "quanto");
  folder.write("bert/model.safetensors", test::safetensors_bytes({}));
  EXPECT_ERROR_SAYING(ErrorKind::unsupported, Model::open(path), "is missing", "quanto");
}

TEST(Model, ErrorsKeepFileTensorAndLayer) {
  const TempFolder folder;
  const fs::path path = changed_copy(folder, "bert", {{"hidden_size", 64}});
  try {
    Model::open(path);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.parts().file, (path / "model.safetensors").string());
    EXPECT_EQ(error.parts().tensor, "bert.encoder.layer.0.attention.self.query.weight");
    EXPECT_EQ(error.parts().layer, 0);
    EXPECT_TRUE(error.parts().hint.empty());
  }
  folder.write("bert/model.safetensors", test::safetensors_bytes({}));
  try {
    Model::open(path);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.parts().file, (path / "model.safetensors").string());
    EXPECT_EQ(error.parts().layer, 0);
  }
}

TEST(Model, AnAdapterNamesItsBaseModel) {
  const TempFolder folder;
  folder.write("adapter_config.json",
               R"({"peft_type": "LORA", "base_model_name_or_path": "org/base-7b"})");
  folder.write("adapter_model.safetensors",
               test::safetensors_bytes({test::counting_tensor("q_proj.lora_A.weight", {2, 2})}));
  EXPECT_ERROR_SAYING(ErrorKind::unsupported, Model::open(folder.path()), folder.path().string(),
                      "LoRA", "'org/base-7b'");
  folder.write("adapter_config.json", "{}");
  EXPECT_ERROR_SAYING(ErrorKind::unsupported, Model::open(folder.path()),
                      "for an unnamed base model");
}

// "llava" is similar to "llama", but is a different architecture.
TEST(Model, NamesMultimodalModels) {
  const TempFolder folder;
  const json changes = {{"model_type", "llava"},
                        {"architectures", {"LlavaForConditionalGeneration"}},
                        {"text_config", {{"model_type", "vicuna"}}}};
  try {
    Model::open(changed_copy(folder, "gpt2", changes));
    FAIL() << "no error";
  } catch (const Error& error) {
    const std::string said = error.what();
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_EQ(said.find("did you mean"), std::string::npos) << said;
    for (const char* part : {"'llava' is not known", "multimodal", "its language model is 'vicuna'",
                             "describe unknown architectures with layout FILE.json"}) {
      EXPECT_NE(said.find(part), std::string::npos) << said;
    }
  }
}

TEST(Model, UnknownArchitecturesAreUnsupported) {
  const TempFolder folder;
  EXPECT_ERROR_SAYING(ErrorKind::unsupported,
                      Model::open(changed_copy(
                          folder, "gpt2", {{"model_type", "rwkv"}, {"architectures", nullptr}})),
                      "config.json", "'rwkv' is not known");
}

TEST(Model, LayersOfAlbertShareTheirGroups) {
  const Dimensions dimensions{.layers = 12, .layer_groups = 3, .layers_per_group = 2};
  // Six passes, two per group, each through both inner layers.
  const std::int64_t groups[] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2};
  for (std::int64_t layer = 0; layer < 12; ++layer) {
    const LayerNumbers numbers = layer_numbers(dimensions, layer);
    EXPECT_EQ(numbers.group, groups[layer]) << layer;
    EXPECT_EQ(numbers.inner, layer % 2) << layer;
    EXPECT_EQ(numbers.layer, layer);
  }
}

}  // namespace
}  // namespace attnscope
