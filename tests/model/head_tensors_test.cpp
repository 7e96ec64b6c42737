// Layouts of projections with a separate tensor per head.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/model/described_model.h"
#include "tests/support/expect_error.h"
#include "tests/support/safetensors_writer.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::int64_t kWidthOfHeads = 6, kOwn = 2, kCount = 3;

/// Two layers of hidden size 6 with 3 heads of 2. The elements of tensor n start at 100 n.
class HeadTensors : public testing::Test {
 protected:
  fs::path write(const std::string& dtype = "F32", std::int64_t heads = kCount) {
    std::vector<TensorToWrite> tensors;
    const auto add = [&](const std::string& name, Shape shape) {
      tensors.push_back(dtype == "F32" ? counting_tensor(name, std::move(shape))
                                       : zero_tensor(name, dtype, 64, std::move(shape)));
    };
    for (const char* layer : {"0", "1"}) {
      for (std::int64_t head = 0; head < heads; ++head) {
        const std::string place =
            "blocks." + std::string(layer) + ".heads." + std::to_string(head) + ".";
        add(place + "query.weight",
            by_rows_ ? Shape{kOwn, kWidthOfHeads} : Shape{kWidthOfHeads, kOwn});
        add(place + "query.bias", {kOwn});
        add(place + "out.weight",
            by_rows_ ? Shape{kWidthOfHeads, kOwn} : Shape{kOwn, kWidthOfHeads});
      }
    }
    return folder_.write("model.safetensors", safetensors_bytes(tensors));
  }

  json layout() const {
    json out = {{"schema", "attnscope-layout/1"},
                {"layers", 2},
                {"hidden_size", kWidthOfHeads},
                {"heads", kCount},
                {"head_dim", kOwn}};
    out["weights"] = {{{"role", "q"}, {"tensor", "blocks.{layer}.heads.{head}.query.weight"}},
                      {{"role", "o"}, {"tensor", "blocks.{layer}.heads.{head}.out.weight"}}};
    if (!by_rows_) {
      for (json& entry : out["weights"]) entry["storage"] = "in_by_out";
    }
    return out;
  }

  TempFolder folder_;
  bool by_rows_ = true;
};

/// The elements of each head's tensor count from 0.
TEST_F(HeadTensors, AreRowsOfQAndColumnsOfO) {
  for (const bool by_rows : {true, false}) {
    SCOPED_TRACE(by_rows);
    by_rows_ = by_rows;
    const Model model = open_with(write(), layout());
    const auto q = decode<float>(model.weight(1, Role::query).matrix);
    const auto o = decode<float>(model.weight(1, Role::output).matrix);
    ASSERT_EQ(q.rows(), kCount * kOwn);
    ASSERT_EQ(o.cols(), kCount * kOwn);
    for (std::int64_t head = 0; head < kCount; ++head) {
      for (std::int64_t own = 0; own < kOwn; ++own) {
        for (std::int64_t at = 0; at < kWidthOfHeads; ++at) {
          const std::int64_t q_place = by_rows ? own * kWidthOfHeads + at : at * kOwn + own;
          const std::int64_t o_place = by_rows ? at * kOwn + own : own * kWidthOfHeads + at;
          EXPECT_EQ(q(head * kOwn + own, at), static_cast<float>(q_place));
          EXPECT_EQ(o(at, head * kOwn + own), static_cast<float>(o_place));
        }
      }
    }
    ASSERT_NE(model.weight(0, Role::query).bias, nullptr);
    const auto bias = decode<float>(model.weight(0, Role::query).bias_column);
    for (std::int64_t row = 0; row < kCount * kOwn; ++row) {
      EXPECT_EQ(bias(row, 0), static_cast<float>(row % kOwn));
    }
  }
}

TEST_F(HeadTensors, AreOneTensorInTheInventory) {
  const Inventory inventory = inventory_of(open_with(write(), layout()));
  ASSERT_EQ(inventory.tensors.size(), 6u) << "q, its bias and o of two layers";
  for (const TensorSummary& tensor : inventory.tensors) EXPECT_NE(tensor.role, "other");
  EXPECT_EQ(inventory.summary.parameters, 2 * (36 + 6 + 36));
}

TEST_F(HeadTensors, RejectsAnotherNumberOrShape) {
  const fs::path more = write("F32", kCount + 1);
  EXPECT_ERROR_SAYING(ErrorKind::format, open_with(more, layout()), "heads.3.query", "3 heads");
  const fs::path path = write();
  json turned = layout();
  for (json& entry : turned["weights"]) entry["storage"] = "in_by_out";
  EXPECT_ERROR_SAYING(ErrorKind::format, open_with(path, turned), "heads.0.query",
                      "[2, 6], expected [6, 2]", "transposed");
  const fs::path wide = write("F64");
  EXPECT_ERROR_SAYING(ErrorKind::unsupported, open_with(wide, layout()), "heads.0", "32 bits");
}

TEST_F(HeadTensors, NamesMissingTensors) {
  const fs::path path = write("F32", kCount - 1);
  json described = layout();
  EXPECT_ERROR_SAYING(ErrorKind::format, open_with(path, described),
                      "'blocks.0.heads.2.query.weight' is missing");
}

TEST_F(HeadTensors, AreAllowedForAttentionOnly) {
  const fs::path path = write();
  json wrong = layout();
  wrong["intermediate_size"] = 4;
  wrong["weights"][0] = {{"role", "up"}, {"tensor", "blocks.{layer}.heads.{head}.query.weight"}};
  EXPECT_ERROR_SAYING(ErrorKind::format, open_with(path, wrong), "only q, k, v and o have heads");
  wrong = layout();
  wrong["weights"][0]["index"] = 0;
  EXPECT_ERROR_SAYING(ErrorKind::format, open_with(path, wrong),
                      "cannot be combined with 'fused' and 'index'");
}

/// A tensor stored in the other orientation than the layout specifies.
TEST(TransposedLayout, TheErrorNamesTheFieldToSet) {
  const TempFolder folder;
  const fs::path path =
      folder.write("model.safetensors", safetensors_bytes({counting_tensor("q", {6, 4})}));
  json layout = small_layout();
  layout["head_dim"] = 3;
  layout["weights"] = {{{"role", "q"}, {"tensor", "q"}, {"storage", "in_by_out"}}};
  EXPECT_ERROR_SAYING(ErrorKind::format, open_with(path, layout), "[6, 4], expected [4, 6]",
                      "transposed", "\"storage\": \"out_by_in\"");
}

}  // namespace
}  // namespace attnscope::test
