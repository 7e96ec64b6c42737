#include "attnscope/model/summary.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "attnscope/model/model.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

using nlohmann::json;
using test::TempFolder;

std::vector<TensorPair> same_by_bytes(const Model& model) {
  std::vector<TensorPair> pairs = possible_copies(model);
  std::erase_if(pairs, [&](const TensorPair& pair) { return !has_same_bytes(model, pair); });
  return pairs;
}

TEST(Inventory, CountsSharedTensorsOnce) {
  const TempFolder folder;
  folder.write("config.json",
               R"({"model_type":"gpt_neo","num_layers":1,"num_heads":1,"hidden_size":2,
                   "intermediate_size":3})");
  std::vector<test::TensorToWrite> tensors;
  const std::string block = "transformer.h.0.";
  for (const char* name : {"q_proj", "k_proj", "v_proj", "out_proj"}) {
    tensors.push_back(test::counting_tensor(block + "attn.attention." + name + ".weight", {2, 2}));
  }
  tensors.push_back(test::counting_tensor(block + "attn.attention.out_proj.bias", {2}));
  tensors.push_back(test::counting_tensor(block + "mlp.c_fc.weight", {3, 2}));
  tensors.push_back(test::counting_tensor(block + "mlp.c_proj.weight", {2, 3}));
  tensors.push_back(test::zero_tensor(block + "attn.attention.bias", "BOOL", 8, {1, 1, 9, 9}));
  tensors.push_back(test::counting_tensor("transformer.wte.weight", {5, 2}));
  constexpr std::int64_t kOnce = 4 * 4 + 2 + 6 + 6 + 10;

  const auto inventory_with = [&](const std::map<std::string, std::string>& metadata) {
    folder.write("model.safetensors", test::safetensors_bytes(tensors, metadata));
    const Model model = Model::open(folder.path());
    return take_inventory(model, same_by_bytes(model));
  };
  EXPECT_EQ(inventory_with({}).summary.parameters, kOnce);
  EXPECT_EQ(inventory_with({}).summary.attention_parameters, 4 * 4 + 2);
  EXPECT_EQ(inventory_with({}).summary.tied_embedding, true);  // the config's default

  const Inventory aliased = inventory_with({{"lm_head.weight", "transformer.wte.weight"}});
  EXPECT_EQ(aliased.summary.parameters, kOnce);
  EXPECT_EQ(aliased.summary.tied_embedding, true);
  EXPECT_EQ(aliased.tensors.back().name, "lm_head.weight");
  EXPECT_EQ(aliased.tensors.back().role, "lm_head");
  EXPECT_EQ(aliased.tensors.back().tied_to, "transformer.wte.weight");
  EXPECT_EQ(aliased.tensors.back().bytes, 0u);

  // The same bytes under both names count once. Other bytes count separately.
  tensors.push_back(test::counting_tensor("lm_head.weight", {5, 2}));
  EXPECT_EQ(inventory_with({}).summary.parameters, kOnce);
  EXPECT_EQ(inventory_with({}).summary.tied_embedding, true);
  EXPECT_EQ(inventory_with({}).tensors.back().tied_to, "transformer.wte.weight");
  tensors.back() = test::zero_tensor("lm_head.weight", "F32", 32, {5, 2});
  EXPECT_EQ(inventory_with({}).summary.parameters, kOnce + 10);
  EXPECT_EQ(inventory_with({}).summary.tied_embedding, false);
  EXPECT_EQ(inventory_with({}).tensors.back().tied_to, std::nullopt);
}

/// A model with two tensors of several pages. The head is all zeros.
void write_separate_head(const TempFolder& folder, bool tied, Shape head_shape = {2000, 8}) {
  folder.write("config.json", json{{"model_type", "gpt_neo"},
                                   {"num_layers", 1},
                                   {"num_heads", 1},
                                   {"hidden_size", 8},
                                   {"tie_word_embeddings", tied}}
                                  .dump());
  folder.write(
      "model.safetensors",
      test::safetensors_bytes(
          {test::counting_tensor("transformer.wte.weight", {2000, 8}),
           test::zero_tensor("lm_head.weight", "F32", 32, head_shape),
           test::counting_tensor("transformer.h.0.attn.attention.q_proj.weight", {8, 8})}));
}

TEST(Inventory, ModelInfoTrustsTheConfigForATiedHead) {
  const TempFolder folder;
  for (const bool tied : {false, true}) {
    write_separate_head(folder, tied);
    const Model model = Model::open(folder.path());
    EXPECT_EQ(summarize(model).tied_embedding, tied);
    EXPECT_EQ(summarize(model).parameters, 16000 + 64 + (tied ? 0 : 16000));
    ASSERT_EQ(possible_copies(model).size(), 1u);
    EXPECT_EQ(possible_copies(model)[0].copy, model.checkpoint().find("lm_head.weight"));
    EXPECT_FALSE(has_same_bytes(model, possible_copies(model)[0]));
    EXPECT_EQ(declared_copies(model).size(), tied ? 1u : 0u);
  }
  write_separate_head(folder, /*tied=*/true, /*head_shape=*/{1000, 8});
  const Model model = Model::open(folder.path());
  EXPECT_TRUE(possible_copies(model).empty());
  EXPECT_EQ(summarize(model).tied_embedding, false);
}

TEST(Inventory, ModelInfoReadsNoWeights) {
  const TempFolder folder;
  write_separate_head(folder, /*tied=*/true);
  const Model model = Model::open(folder.path());
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  for (const char* name : {"transformer.wte.weight", "lm_head.weight"}) {
    // Reading the pages that contain only this tensor raises a signal.
    const auto bytes = model.checkpoint().find(name)->view.bytes;
    const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
    const std::uintptr_t first = (begin + page - 1) / page * page;
    const std::uintptr_t end = (begin + bytes.size()) / page * page;
    ASSERT_EQ(mprotect(reinterpret_cast<void*>(first), end - first, PROT_NONE), 0);
  }
  EXPECT_EQ(summarize(model).tied_embedding, true);
  EXPECT_EQ(take_inventory(model, possible_copies(model)).tensors.size(), 3u);
}

}  // namespace
}  // namespace attnscope
