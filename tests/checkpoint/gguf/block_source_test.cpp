// Every ggml type, compared with the values that the `gguf` package decodes from the same bytes
// (tools/make_gguf_files.py).
#include "attnscope/checkpoint/gguf/block_source.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/model/model.h"
#include "attnscope/tensor/decode.h"
#include "attnscope/tensor/tensor_matrix.h"
#include "tests/support/expect_error.h"

namespace attnscope {
namespace {

const std::filesystem::path kData = std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/data/gguf";

std::vector<float> values_of(const TensorView& view) {
  std::vector<float> out(static_cast<std::size_t>(view.element_count()));
  decode_elements(view, 0, 1, std::ssize(out), out.data());
  return out;
}

/// Same bit pattern, or both NaN.
bool same(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

TEST(BlockSource, MatchesTheReferenceBitForBit) {
  const Checkpoint got = Checkpoint::open(kData / "types.gguf");
  const Checkpoint wanted = Checkpoint::open(kData / "types.safetensors");
  ASSERT_EQ(got.tensors().size(), wanted.tensors().size());
  for (const CheckpointTensor& expected : wanted.tensors()) {
    SCOPED_TRACE(expected.name);
    const CheckpointTensor* tensor = got.find(expected.name);
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(tensor->view.storage_name(), expected.name);
    ASSERT_EQ(tensor->view.shape, expected.view.shape);
    const std::vector<float> ours = values_of(tensor->view), theirs = values_of(expected.view);
    for (std::size_t index = 0; index < theirs.size(); ++index) {
      ASSERT_TRUE(same(ours[index], theirs[index]))
          << "value " << index << ": " << ours[index] << ", expected " << theirs[index];
    }
  }
}

/// Any range of a matrix, including ranges that start or end inside a block.
TEST(BlockSource, DecodesRangesOfRows) {
  const Checkpoint checkpoint = Checkpoint::open(kData / "types.gguf");
  for (const char* name : {"Q4_0", "Q6_K"}) {
    const TensorView& view = checkpoint.find(name)->view;
    const std::vector<float> all = values_of(view);
    const std::int64_t width = view.shape[1];
    for (const std::int64_t first : {std::int64_t{0}, std::int64_t{5}, width / 2, width - 1}) {
      const std::int64_t count = std::min<std::int64_t>(width - first, width / 2 + 3);
      Matrix<float> part(2, count);
      view.source->decode(1, first, part.view());
      for (std::int64_t row = 0; row < 2; ++row) {
        for (std::int64_t col = 0; col < count; ++col) {
          const auto at = static_cast<std::size_t>((row + 1) * width + first + col);
          ASSERT_TRUE(same(part(row, col), all[at])) << name << " " << row << " " << col;
        }
      }
    }
  }
}

TEST(BlockSource, ReadsOnlyTheBlocksOfARange) {
  const Checkpoint checkpoint = Checkpoint::open(kData / "types.gguf");
  const TensorView& view = checkpoint.find("Q4_K")->view;  // (4, 512)
  EXPECT_EQ(stored_bytes(view), 4u * 2 * 144);
  const auto whole_rows = view.source->reads(1, 2, 0, 512);
  ASSERT_EQ(whole_rows.size(), 1u);
  EXPECT_EQ(whole_rows[0].size(), 2u * 2 * 144);
  const auto parts = view.source->reads(0, 2, 250, 3);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1].size(), 144u);
}

TEST(BlockSource, NamesTypesThatAreNotDecoded) {
  const Checkpoint checkpoint = Checkpoint::open(kData / "refused.gguf");
  EXPECT_EQ(checkpoint.tensors().size(), 12u);
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    EXPECT_EQ(tensor.view.storage_name(), tensor.name);
    EXPECT_ERROR_SAYING(ErrorKind::unsupported, why_not_analyzed(checkpoint, tensor),
                        "refused.gguf: tensor '" + tensor.name + "'",
                        "dtype " + tensor.name + " is not supported");
  }
}

TEST(GgmlTypes, AreSortedAndEitherQuantizedOrPlain) {
  std::uint32_t last = 0;
  for (const GgmlType& type : ggml_types()) {
    EXPECT_TRUE(type.id == 0 || type.id > last) << type.name;
    EXPECT_FALSE(type.decode != nullptr && type.plain) << type.name;
    if (type.plain) {
      EXPECT_EQ(type.block_bytes * 8, dtype_info(*type.plain).bits) << type.name;
    }
    last = type.id;
  }
}

}  // namespace
}  // namespace attnscope
