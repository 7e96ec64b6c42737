// Layouts of tensors that contain several projections, each as a slice.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/model/described_model.h"
#include "tests/support/expect_error.h"
#include "tests/support/safetensors_writer.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Q, K, V and O of each layer in one tensor of shape (4, D, D), D = 4.
class StackedLayout : public testing::Test {
 protected:
  StackedLayout() {
    std::vector<TensorToWrite> tensors;
    for (const char* name : {"blocks.0.attn.qkvo_w", "blocks.1.attn.qkvo_w"}) {
      tensors.push_back(counting_tensor(name, {4, 4, 4}));
    }
    path_ = folder_.write("model.safetensors", safetensors_bytes(tensors));
    layout_ = {{"schema", "attnscope-layout/1"},
               {"layers", 2},
               {"hidden_size", 4},
               {"heads", 2},
               {"head_dim", 2}};
    for (int index = 0; index < 4; ++index) {
      layout_["weights"].push_back({{"role", role_name(static_cast<Role>(index))},  // q, k, v, o
                                    {"tensor", "blocks.{layer}.attn.qkvo_w"},
                                    {"index", index}});
    }
  }

  TempFolder folder_;
  fs::path path_;
  json layout_;
};

TEST_F(StackedLayout, ReadsEachSlice) {
  const Model model = open_with(path_, layout_);
  EXPECT_EQ(model.spec().architecture.name, "custom");
  EXPECT_FALSE(model.has(Role::up));
  EXPECT_TRUE(model.has(Role::qk));
  for (int index = 0; index < 4; ++index) {
    const auto matrix = decode<float>(model.weight(1, static_cast<Role>(index)).matrix);
    ASSERT_EQ(matrix.rows(), 4);
    ASSERT_EQ(matrix.cols(), 4);
    EXPECT_EQ(matrix(0, 0), static_cast<float>(16 * index));
    EXPECT_EQ(matrix(3, 2), static_cast<float>(16 * index + 14));
  }
}

TEST_F(StackedLayout, ReadsEachTransposedSlice) {
  for (auto& rule : layout_["weights"]) rule["storage"] = "in_by_out";
  const Model model = open_with(path_, layout_);
  EXPECT_EQ(decode<float>(model.weight(0, Role::value).matrix)(3, 2), 32 + 4 * 2 + 3);
}

TEST_F(StackedLayout, HasAllRolesInTheInventory) {
  const Inventory inventory = inventory_of(open_with(path_, layout_));
  ASSERT_EQ(inventory.tensors.size(), 2u);
  EXPECT_EQ(inventory.tensors[1].role, "q+k+v+o");
  EXPECT_EQ(inventory.tensors[1].layer, 1);
  EXPECT_EQ(inventory.summary.attention_parameters, 128);
  EXPECT_EQ(inventory.summary.parameters, 128);
  EXPECT_EQ(inventory.summary.mlp_width, std::nullopt);
}

TEST_F(StackedLayout, RejectsSlicesAndShapesThatDoNotExist) {
  const std::string place = path_.string() + ": tensor 'blocks.0.attn.qkvo_w'";
  auto layout = layout_;
  layout["weights"][3]["index"] = 4;
  EXPECT_ERROR_SAYING(ErrorKind::format, open_with(path_, layout), place,
                      "shape [4, 4, 4] has no slice 4");
  layout = layout_;
  layout["hidden_size"] = 8;
  EXPECT_ERROR_SAYING(ErrorKind::format, open_with(path_, layout), place,
                      "shape [4, 4, 4], expected [any, 4, 8] (from", "layout.json)");
  layout = layout_;
  layout["weights"][0].erase("index");
  EXPECT_ERROR_SAYING(ErrorKind::format, open_with(path_, layout), place,
                      ", expected [4, 4] (from");
  layout = layout_;
  layout["layers"] = 3;
  EXPECT_EQ(open_with(path_, layout).weight(2, Role::query).missing,
            "tensor 'blocks.2.attn.qkvo_w' is missing");
}

// One tensor for all layers belongs to no single layer.
TEST_F(StackedLayout, OneTensorMayServeEveryLayer) {
  for (auto& rule : layout_["weights"]) rule["tensor"] = "blocks.0.attn.qkvo_w";
  const Inventory inventory = inventory_of(open_with(path_, layout_));
  EXPECT_EQ(inventory.tensors[0].role, "q+k+v+o");
  EXPECT_EQ(inventory.tensors[0].layer, std::nullopt);
  EXPECT_EQ(inventory.tensors[1].role, "other");
  EXPECT_EQ(inventory.summary.attention_parameters, 64);
}

}  // namespace
}  // namespace attnscope::test
