#include "attnscope/tensor/rearranged.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "attnscope/tensor/decode.h"
#include "attnscope/tensor/tensor_matrix.h"

namespace attnscope {
namespace {

/// 0, 1, 2, … as float32.
struct Counting {
  explicit Counting(Shape shape) : view{.dtype = DType::f32, .shape = std::move(shape)} {
    values.resize(static_cast<std::size_t>(view.element_count()));
    std::iota(values.begin(), values.end(), 0.0F);
    view.bytes = std::as_bytes(std::span(values));
  }
  std::vector<float> values;
  TensorView view;
};

std::vector<float> values_of(const TensorView& view) {
  const Matrix<float> all = decode<float>(whole_matrix(view));
  return {all.data(), all.data() + all.rows() * all.cols()};
}

TEST(Rearranged, SeparatesPairsOfEachHead) {
  // Two heads of four rows, stored as 0 2 1 3.
  const Counting stored({8, 1});
  const TensorView view =
      with_rows_in_order(stored.view, {.groups = 2, .outer = 2, .inner = 2, .run = 1});
  EXPECT_EQ(values_of(view), (std::vector<float>{0, 2, 1, 3, 4, 6, 5, 7}));
  EXPECT_EQ(view.storage_name(), "F32");
}

TEST(Rearranged, GathersTheBlocksOfEachHead) {
  // Two heads, three blocks of two rows.
  const Counting stored({12, 1});
  const TensorView view =
      with_rows_in_order(stored.view, {.groups = 1, .outer = 2, .inner = 3, .run = 2});
  EXPECT_EQ(values_of(view), (std::vector<float>{0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11}));
}

TEST(Rearranged, ReordersElementsOfOneAxis) {
  const Counting stored({4});
  const TensorView view =
      with_rows_in_order(stored.view, {.groups = 1, .outer = 2, .inner = 2, .run = 1});
  std::vector<float> out(4);
  decode_elements(view, 0, 1, 4, out.data());
  EXPECT_EQ(out, (std::vector<float>{0, 2, 1, 3}));
  EXPECT_EQ(stored_bytes(view), 16u);
}

TEST(Rearranged, ReadsOnlyTheRowsOfAHead) {
  const Counting stored({16, 4});
  const TensorView view =
      with_rows_in_order(stored.view, {.groups = 2, .outer = 2, .inner = 4, .run = 1});
  EXPECT_EQ(stored_bytes(view), 16u * 16);
  const auto parts = view.source->reads(8, 8, 0, 4);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].data(), stored.view.bytes.data() + 8 * 16);
  EXPECT_EQ(parts[0].size(), 8u * 16);
}

TEST(Rearranged, TransposesPlainTensorsAndSources) {
  const Counting stored({2, 3});
  const std::vector<float> turned = {0, 3, 1, 4, 2, 5};
  const TensorView plain = transposed(stored.view);
  EXPECT_EQ(plain.source, nullptr);
  EXPECT_EQ(values_of(plain), turned);

  const TensorView source = transposed(with_rows_in_order(stored.view, {.groups = 2}));
  ASSERT_NE(source.source, nullptr);
  EXPECT_EQ(values_of(source), turned);
  EXPECT_EQ(stored_bytes(source), 24u);
}

TEST(Rearranged, ConcatenatesParts) {
  // Two rows, the two rows of a transpose, one of zeros, one row.
  const Counting rows({2, 3}), columns({3, 2}), last({1, 3});
  const TensorView view = one_after_another({{.stored = rows.view},
                                             {.stored = columns.view, .transposed = true},
                                             {.stored = rows_of_zeros(rows.view, 1)},
                                             {.stored = last.view}});
  EXPECT_EQ(view.shape, (Shape{6, 3}));
  EXPECT_EQ(values_of(view),
            (std::vector<float>{0, 1, 2, 3, 4, 5, 0, 2, 4, 1, 3, 5, 0, 0, 0, 0, 1, 2}));
  EXPECT_EQ(view.storage_name(), "F32");
  EXPECT_EQ(stored_bytes(view), (6u + 6 + 3) * 4);
  // Reads a block that spans two parts and starts after the first column.
  Matrix<float> block(4, 2);
  view.source->decode(1, 1, block.view());
  EXPECT_EQ(std::vector<float>(block.data(), block.data() + 8),
            (std::vector<float>{4, 5, 2, 4, 3, 5, 0, 0}));
  // For a transpose, all bytes; for others, only those of the rows.
  const auto read = view.source->reads(1, 2, 0, 3);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].data(), rows.view.bytes.data() + 12);
  EXPECT_EQ(read[0].size(), 12u);
  EXPECT_EQ(read[1].size(), 24u);
}

TEST(Rearranged, NamesTheStorageTypesOfParts) {
  const Counting rows({2, 2});
  TensorView halves = rows.view;
  halves.dtype = DType::f16;
  halves.bytes = halves.bytes.first(8);
  const TensorView both = one_after_another({{.stored = halves}, {.stored = rows.view}});
  EXPECT_EQ(both.storage_name(), "F16+F32");
  EXPECT_EQ(both.dtype, DType::f32);
  EXPECT_EQ(one_after_another({{.stored = halves}, {.stored = halves}}).dtype, DType::f16);
}

}  // namespace
}  // namespace attnscope
