// Biases of weights that a layout describes.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/model/described_model.h"
#include "tests/support/expect_error.h"
#include "tests/support/safetensors_writer.h"

namespace attnscope::test {
namespace {

using nlohmann::json;

std::vector<float> bias_of(const Model& model, Role role) {
  const Weight& weight = model.weight(0, role);
  if (weight.bias == nullptr) return {};
  const Matrix<float> column = decode<float>(weight.bias_column);
  return {column.data(), column.data() + column.rows()};
}

TEST(Layout, FindsBiasesNextToTheirWeights) {
  const struct {
    std::string weight, bias;
  } names[] = {{"attn.q.weight", "attn.q.bias"},
               {"in_proj_weight", "in_proj_bias"},
               {"q/kernel", "q/bias"},
               {"attn.wq_w", "attn.wq_b"},
               {"wq", "wq.bias"},
               {"wq", "wq_bias"}};
  for (const auto& [weight, bias] : names) {
    SCOPED_TRACE(bias);
    const TempFolder folder;
    const auto path = folder.write(
        "model.safetensors",
        safetensors_bytes({counting_tensor(weight, {4, 4}), counting_tensor(bias, {4})}));
    json layout = small_layout();
    layout["weights"] = {{{"role", "q"}, {"tensor", weight}}};
    const Model model = open_with(path, layout);
    EXPECT_EQ(bias_of(model, Role::query), (std::vector<float>{0, 1, 2, 3}));
    EXPECT_EQ(inventory_of(model).tensors[1].role, "q.bias");
  }
}

TEST(Layout, ABiasMayHaveAnyName) {
  const TempFolder folder;
  const auto path = folder.write(
      "model.safetensors",
      safetensors_bytes({counting_tensor("wqk", {8, 4}), counting_tensor("shift.0", {8})}));
  json layout = small_layout();
  for (const char* role : {"q", "k"}) {
    layout["weights"].push_back(
        {{"role", role}, {"tensor", "wqk"}, {"fused", {"q", "k"}}, {"bias", "shift.{layer}"}});
  }
  const Model model = open_with(path, layout);
  EXPECT_EQ(bias_of(model, Role::query), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(bias_of(model, Role::key), (std::vector<float>{4, 5, 6, 7}));

  layout["weights"][0]["bias"] = "shfit.{layer}";
  EXPECT_ERROR_SAYING(ErrorKind::format, open_with(path, layout), "tensor 'shfit.0' is missing",
                      "layout.json");
  layout["weights"][0]["bias"] = "wqk";
  EXPECT_ERROR_SAYING(ErrorKind::format, open_with(path, layout), "shape [8, 4], expected [8]");
}

TEST(Layout, SplitsBiasesOfAStackedTensor) {
  const TempFolder folder;
  const auto path =
      folder.write("model.safetensors", safetensors_bytes({counting_tensor("qkv.weight", {3, 4, 4}),
                                                           counting_tensor("qkv.bias", {3, 4})}));
  json layout = small_layout();
  int index = 0;
  for (const char* role : {"q", "k", "v"}) {
    layout["weights"].push_back({{"role", role}, {"tensor", "qkv.weight"}, {"index", index++}});
  }
  const Model model = open_with(path, layout);
  EXPECT_EQ(bias_of(model, Role::query), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(bias_of(model, Role::value), (std::vector<float>{8, 9, 10, 11}));

  const auto shared = folder.write("shared.safetensors",
                                   safetensors_bytes({counting_tensor("qkv.weight", {3, 4, 4}),
                                                      counting_tensor("qkv.bias", {4})}));
  EXPECT_ERROR_SAYING(ErrorKind::format, open_with(shared, layout), "shape [4], expected [3, 4]");
}

}  // namespace
}  // namespace attnscope::test
