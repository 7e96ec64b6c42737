// Weights that are quantized, or of a type that is not analyzed.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "attnscope/model/model.h"
#include "tests/support/expect_error.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

using nlohmann::json;
using test::TempFolder;

// With a config that names the method, with an older config, and without: the tensors define it.
TEST(Model, OpensEightBitWeightsOfBitsandbytes) {
  const std::string query = "transformer.h.0.attn.attention.q_proj.";
  const json config = {
      {"model_type", "gpt_neo"}, {"num_layers", 1}, {"num_heads", 1}, {"hidden_size", 2}};
  const TempFolder folder;
  folder.write("model.safetensors",
               test::safetensors_bytes({test::zero_tensor(query + "weight", "I8", 8, {2, 2}),
                                        test::counting_tensor(query + "SCB", {2})}));
  for (const json& method :
       {json{{"quant_method", "bitsandbytes"}}, json{{"load_in_8bit", true}}, json()}) {
    json quantized = config;
    if (!method.is_null()) quantized["quantization_config"] = method;
    folder.write("config.json", quantized.dump());
    const Model model = Model::open(folder.path());
    const CheckpointTensor& tensor = *model.weight(0, Role::query).tensor;
    EXPECT_EQ(why_not_analyzed(model.checkpoint(), tensor), std::nullopt);
    EXPECT_NE(tensor.view.source, nullptr);
    EXPECT_EQ(model.checkpoint().find(query + "SCB"), nullptr);
  }
}

// GPT-2 stores the transpose of nn.Linear weights. Quantized GPT-2 models store linear layers.
TEST(Model, QuantizedWeightsAreLinearLayers) {
  const std::string query = "transformer.h.0.attn.c_attn.";
  std::string codes(6 * 2, '\0');
  for (std::size_t at = 0; at < codes.size(); ++at) codes[at] = static_cast<char>(at);
  test::TensorToWrite scales = test::counting_tensor(query + "SCB", {6});
  const TempFolder folder;
  folder.write("config.json", R"({"model_type":"gpt2","n_layer":1,"n_head":1,"n_embd":2,
                                  "quantization_config":{"load_in_8bit":true}})");
  folder.write("model.safetensors",
               test::safetensors_bytes({{query + "weight", "I8", {6, 2}, codes}, scales}));
  const Model model = Model::open(folder.path());
  EXPECT_EQ(model.checkpoint().find(query + "SCB"), nullptr);  // part of the weight
  const Weight& key = model.weight(0, Role::key);
  ASSERT_NE(key.tensor, nullptr);
  EXPECT_EQ(key.tensor->view.storage_name(), "INT8, one scale per row");
  const Matrix<float> values = decode<float>(key.matrix);  // rows 2 and 3, scaled by these numbers
  EXPECT_EQ(values(0, 0), 4.0f * 2.0f * (1.0f / 127));
  EXPECT_EQ(values(0, 1), 5.0f * 2.0f * (1.0f / 127));
  EXPECT_EQ(values(1, 0), 6.0f * 3.0f * (1.0f / 127));
  EXPECT_EQ(values(1, 1), 7.0f * 3.0f * (1.0f / 127));
}

TEST(Model, StatesWhyAWeightIsNotAnalyzed) {
  const TempFolder folder;
  std::vector<test::TensorToWrite> tensors;
  for (const DTypeInfo& info : all_dtypes()) {
    const std::string dtype(info.name);
    tensors.push_back(test::zero_tensor(dtype, dtype, info.bits, {4, 2}));
  }
  const Checkpoint checkpoint =
      Checkpoint::open(folder.write("model.safetensors", test::safetensors_bytes(tensors)));

  for (const DTypeInfo& info : all_dtypes()) {
    const CheckpointTensor& tensor = *checkpoint.find(info.name);
    if (info.kind == DTypeClass::real) {
      EXPECT_EQ(why_not_analyzed(checkpoint, tensor), std::nullopt) << info.name;
    } else if (info.kind == DTypeClass::integer) {
      EXPECT_EQ(why_not_analyzed(checkpoint, tensor),
                "dtype " + std::string(info.name) + " has no real values");
    } else {
      EXPECT_ERROR_SAYING(ErrorKind::unsupported, why_not_analyzed(checkpoint, tensor),
                          "model.safetensors: tensor '" + std::string(info.name) + "'",
                          "is not supported");
    }
  }
}

}  // namespace
}  // namespace attnscope
