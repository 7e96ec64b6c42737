// Variants that no available library writes. Expected values follow from the definitions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/tensor/tensor_matrix.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

using nlohmann::json;
using test::TensorToWrite;

template <class T>
TensorToWrite numbers(std::string name, std::string dtype, Shape shape,
                      const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return {std::move(name), std::move(dtype), std::move(shape), bytes};
}

/// The values and the dtype of the single weight that the parts form.
struct Decoded {
  std::vector<float> values;
  DType dtype;
};

Decoded decoded(const json& config, const std::vector<TensorToWrite>& parts) {
  const test::TempFolder folder;
  Checkpoint checkpoint =
      Checkpoint::open(folder.write("model.safetensors", test::safetensors_bytes(parts)));
  checkpoint.compose_quantized(config["quant_method"].get<std::string>(), config.dump(), "config");
  const TensorView& view = checkpoint.tensors().front().view;
  const Matrix<float> matrix = decode<float>(whole_matrix(view));
  return {{matrix.data(), matrix.data() + matrix.rows() * matrix.cols()}, view.dtype};
}

TEST(QuantizedVariants, DecodesCompressedGroupsInAnyOrder) {
  json weights = {{"num_bits", 8}, {"type", "int"}, {"strategy", "group"}, {"group_size", 2}};
  const std::vector<TensorToWrite> parts = {
      numbers<std::uint8_t>("a.weight_packed", "I32", {1, 1}, {130, 131, 132, 133}),
      numbers<float>("a.weight_scale", "F32", {1, 2}, {1, 10}),
      numbers<std::int64_t>("a.weight_shape", "I64", {2}, {1, 4}),
      numbers<std::int32_t>("a.weight_g_idx", "I32", {4}, {1, 0, 1, 0})};
  const auto values = [&] {
    return decoded({{"quant_method", "compressed-tensors"},
                    {"config_groups", {{"all", {{"weights", weights}}}}}},
                   parts)
        .values;
  };
  EXPECT_EQ(values(), (std::vector<float>{2, 3, 40, 50}));  // the index is ignored without actorder
  weights["actorder"] = "group";
  EXPECT_EQ(values(), (std::vector<float>{20, 3, 40, 5}));
}

// Layers of a model may be quantized in several ways. The scheme that matches the tensors is used.
TEST(QuantizedVariants, SelectsTheMatchingScheme) {
  const json config = {
      {"quant_method", "compressed-tensors"},
      {"config_groups",
       {{"a", {{"weights", {{"num_bits", 4}, {"type", "int"}, {"strategy", "channel"}}}}},
        {"b", {{"weights", {{"num_bits", 8}, {"type", "int"}, {"strategy", "channel"}}}}}}}};
  const Decoded got =
      decoded(config, {numbers<std::uint8_t>("a.weight_packed", "I32", {1, 2},
                                             {130, 131, 132, 133, 128, 127, 126, 125}),
                       numbers<float>("a.weight_scale", "F32", {1, 1}, {2}),
                       numbers<std::int64_t>("a.weight_shape", "I64", {2}, {1, 8})});
  EXPECT_EQ(got.values, (std::vector<float>{4, 6, 8, 10, 0, -2, -4, -6}));
}

TEST(QuantizedVariants, DecodesPowerOfTwoScales) {
  const Decoded got =
      decoded({{"quant_method", "fp8"}},
              {numbers<std::uint8_t>("a.weight", "F8_E4M3", {1, 2}, {0x38, 0xB8}),  // 1, -1
               numbers<std::uint8_t>("a.weight_scale_inv", "F8_E8M0", {1, 1}, {130})});
  EXPECT_EQ(got.values, (std::vector<float>{8, -8}));
  EXPECT_EQ(got.dtype, DType::bf16);
}

TEST(QuantizedVariants, GptqWithoutAnIndexUsesEqualGroups) {
  std::vector<std::uint32_t> words(2 * 8, 0x33333333);  // 16 inputs, 8 outputs, all 3
  const Decoded got = decoded(
      {{"quant_method", "gptq"}, {"group_size", 12}},
      {numbers<std::uint32_t>("a.qweight", "I32", {2, 8}, words),
       numbers<std::uint32_t>("a.qzeros", "I32", {2, 1}, {0, 0xFFFFFFFF}),
       numbers<std::uint16_t>("a.scales", "F16", {2, 8}, std::vector<std::uint16_t>(16, 0x3C00))});
  std::vector<float> row(16, 2);                 // 3 - (0 + 1)
  std::fill(row.begin() + 12, row.end(), 3.0f);  // 15 + 1 wraps to 0
  for (int output = 0; output < 8; ++output) {
    EXPECT_EQ(
        std::vector<float>(got.values.begin() + output * 16, got.values.begin() + output * 16 + 16),
        row);
  }
}

}  // namespace
}  // namespace attnscope
