// Adapters that PEFT wrote and merged into their bases, compared with PEFT's merge_and_unload()
// (tools/golden_adapters.py) for every tensor of the model, changed or not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "attnscope/adapters/open_adapted.h"
#include "attnscope/tensor/decode.h"
#include "attnscope/tensor/encode.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

const fs::path kAdapters = fs::path(ATTNSCOPE_SOURCE_DIR) / "tests/data/adapters";

std::vector<std::string> adapter_cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kAdapters)) {
    if (fs::exists(entry.path() / "base.txt")) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<double> values_of(const TensorView& tensor) {
  const std::vector<std::byte> bytes = encoded_elements(tensor, DType::f64);
  std::vector<double> out(static_cast<std::size_t>(tensor.element_count()));
  const TensorView plain{.dtype = DType::f64, .shape = tensor.shape, .bytes = bytes};
  decode_elements(plain, 0, 1, std::ssize(out), out.data());
  return out;
}

Model adapted(const std::string& base, const std::string& adapter,
              std::vector<std::string>* all_notes = nullptr) {
  std::vector<std::string> notes;
  std::vector<Model> stacks =
      open_adapted_stacks(Checkpoint::open(kAdapters / base), open_adapter(kAdapters / adapter),
                          std::nullopt, "merged", notes);
  if (all_notes != nullptr) *all_notes = notes;
  return stacks.front();
}

class MergedByPeft : public ::testing::TestWithParam<std::string> {};

TEST_P(MergedByPeft, EveryTensorEqualsPeft) {
  const fs::path folder = kAdapters / GetParam();
  std::string base_name;
  std::getline(std::ifstream(folder / "base.txt"), base_name);
  const Model base = Model::open(kAdapters / base_name);
  const Model merged = adapted(base_name, GetParam());
  const Checkpoint expected = Checkpoint::open(folder / "merged.safetensors");
  ASSERT_FALSE(expected.tensors().empty());
  std::map<std::string, TensorView> wanted;
  for (const CheckpointTensor& tensor : base.checkpoint().tensors()) {
    wanted[tensor.name] = tensor.view;
  }
  for (const CheckpointTensor& tensor : expected.tensors()) wanted[tensor.name] = tensor.view;
  for (const auto& [name, view] : wanted) {
    const CheckpointTensor* got = merged.checkpoint().find(name);
    if (got == nullptr && name == "lm_head.weight") {
      EXPECT_TRUE(merged.spec().tied);
      got = merged.checkpoint().find("model.embed_tokens.weight");
    }
    ASSERT_NE(got, nullptr) << name;
    ASSERT_EQ(got->view.shape, view.shape) << name;
    const std::vector<double> values = values_of(got->view), same = values_of(view);
    double largest = 0, difference = 0;
    for (std::size_t at = 0; at < same.size(); ++at) {
      largest = std::max(largest, std::abs(same[at]));
      difference = std::max(difference, std::abs(values[at] - same[at]));
    }
    // PEFT computes in float32: about ten roundings of 2^-24. The error of its decompositions is
    // amplified by the gap between two singular values, a tenth of the largest.
    EXPECT_LE(difference, 2e-5 * std::max(largest, 1.0)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Adapters, MergedByPeft, ::testing::ValuesIn(adapter_cases()),
                         [](const auto& one) { return one.param; });

TEST(MergedByPeft, AnAdapterWithItsOwnHeadUntiesTheHead) {
  EXPECT_TRUE(Model::open(kAdapters / "base-tied").spec().tied);
  EXPECT_FALSE(adapted("base-tied", "saved_head").spec().tied);
  EXPECT_FALSE(adapted("base-tied", "saved_embedding").spec().tied);
  EXPECT_TRUE(adapted("base-tied", "saved_tie").spec().tied);
}

TEST(MergedByPeft, NotesABaseThatChangedBeforeTraining) {
  std::vector<std::string> notes;
  adapted("base-llama", "lora_ga", &notes);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes.front().find("LoRA-GA"), std::string::npos);
  adapted("base-llama", "pissa", &notes);
  EXPECT_TRUE(notes.empty());
}

/// A block is the same whichever way it is read.
TEST(MergedByPeft, BlocksEqualTheWholeMatrix) {
  for (const char* adapter : {"dora_embedding", "loha", "lokr_both", "oft", "oft_embedding"}) {
    const Model merged = adapted("base-llama", adapter);
    for (const CheckpointTensor& tensor : merged.checkpoint().tensors()) {
      if (tensor.view.source == nullptr || tensor.view.shape.size() != 2) continue;
      const TensorMatrix whole = whole_matrix(tensor.view);
      const Matrix<double> all = decode<double>(whole);
      for (std::int64_t row = 0; row < whole.rows; row += 3) {
        for (std::int64_t col = 0; col < whole.cols; col += 3) {
          Matrix<double> block(std::min<std::int64_t>(3, whole.rows - row),
                               std::min<std::int64_t>(3, whole.cols - col));
          decode_block(whole, row, col, block.view());
          for (std::int64_t at = 0; at < block.rows() * block.cols(); ++at) {
            EXPECT_EQ(block.data()[at], all(row + at / block.cols(), col + at % block.cols()))
                << adapter << ' ' << tensor.name;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace attnscope::test
