#include "attnscope/tensor/dtype.h"

#include <gtest/gtest.h>

#include "attnscope/tensor/tensor_view.h"

namespace attnscope {
namespace {

TEST(DType, NamesRoundTrip) {
  for (const DTypeInfo& info : all_dtypes()) {
    EXPECT_EQ(dtype_from_name(info.name), info.dtype);
    EXPECT_EQ(&dtype_info(info.dtype), &info);
    EXPECT_EQ(dtype_name(info.dtype), info.name);
  }
  EXPECT_EQ(dtype_from_name("f32"), std::nullopt);
  EXPECT_EQ(dtype_from_name("F32 "), std::nullopt);
  EXPECT_EQ(dtype_from_name(""), std::nullopt);
}

TEST(DType, DecodesNineTypes) {
  std::size_t decoded = 0;
  for (const DTypeInfo& info : all_dtypes()) decoded += info.kind == DTypeClass::real ? 1 : 0;
  EXPECT_EQ(decoded, 9u);
}

TEST(TensorView, CountsElements) {
  EXPECT_EQ((TensorView{.shape = {}}).element_count(), 1);
  EXPECT_EQ((TensorView{.shape = {2, 3, 4}}).element_count(), 24);
  EXPECT_EQ((TensorView{.shape = {2, 0, 4}}).element_count(), 0);
  // The other sizes of an empty tensor may have any value, so their product is meaningless.
  EXPECT_EQ((TensorView{.shape = {INT64_MAX, INT64_MAX, 0}}).element_count(), 0);
}

}  // namespace
}  // namespace attnscope
