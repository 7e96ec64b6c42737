// Pruned experts: every tensor with one entry per expert, in both storage formats.
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/tensor/decode.h"
#include "tests/support/compute.h"
#include "tests/support/expect_error.h"

namespace attnscope::test {
namespace {

Model experts_model(const char* name) {
  return Model::open(std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/data/forward" / name);
}

/// A choice without the first expert of even layers and the last expert of odd layers.
Choice without_one(const Model& model) {
  const std::int64_t experts = model.dimensions().experts;
  Choice choice{.method = find_method("experts"), .size = experts - 1};
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    std::vector<std::int64_t>& kept = choice.kept.emplace_back();
    if (!model.spec().layers[static_cast<std::size_t>(layer)].experts) continue;
    kept.resize(static_cast<std::size_t>(experts - 1));
    std::iota(kept.begin(), kept.end(), layer % 2 == 0 ? 1 : 0);
  }
  return choice;
}

ChangedModel without_others(const Model& model, const Choice& choice) {
  return choice.method->make(model, choice, {}, test_compute());  // needs no text
}

class ExpertsMethod : public ::testing::TestWithParam<const char*> {};

TEST_P(ExpertsMethod, KeepsTheMatricesOfRemainingExperts) {
  const Model model = experts_model(GetParam());
  const Choice choice = without_one(model);
  const Model smaller = without_others(model, choice).open();
  EXPECT_EQ(smaller.dimensions().experts, choice.size);
  std::int64_t elements = 0;
  for (const CheckpointTensor& tensor : model.checkpoint().tensors()) {
    elements += tensor.view.element_count();
  }
  for (const CheckpointTensor& tensor : smaller.checkpoint().tensors()) {
    elements -= tensor.view.element_count();
  }
  const ModelSize before = size_of(model);
  EXPECT_EQ(elements, before.parameters - size_after(model, before, choice).parameters);
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    const auto& kept = choice.kept[static_cast<std::size_t>(layer)];
    for (std::size_t at = 0; at < kept.size(); ++at) {
      for (const Role role : {Role::gate, Role::up, Role::down}) {
        if (!model.describes_of_expert(role)) continue;
        const Weight before = model.expert_weight(layer, kept[at], role);
        const Weight after = smaller.expert_weight(layer, static_cast<std::int64_t>(at), role);
        const Matrix<double> a = decode<double>(before.matrix), b = decode<double>(after.matrix);
        ASSERT_EQ(a.rows() * a.cols(), b.rows() * b.cols());
        EXPECT_TRUE(std::equal(a.data(), a.data() + a.rows() * a.cols(), b.data()));
      }
    }
    if (kept.empty()) continue;
    const Matrix<double> a = canonical_matrix(model, layer, Role::router);
    const Matrix<double> b = canonical_matrix(smaller, layer, Role::router);
    for (std::int64_t row = 0; row < b.rows(); ++row) {
      EXPECT_TRUE(std::equal(&b(row, 0), &b(row, 0) + b.cols(),
                             &a(kept[static_cast<std::size_t>(row)], 0)));
    }
  }
  ForwardPass(smaller, /*copy_weights=*/true, test_compute())
      .run(std::vector<TokenIds>{{1, 2, 3}}, {}, test_compute());
}

INSTANTIATE_TEST_SUITE_P(Files, ExpertsMethod,
                         ::testing::Values("mixtral", "qwen2_moe", "qwen2_moe-stacked", "gpt_oss",
                                           "ernie4_5_moe", "granitemoe", "llama4"));

TEST(ExpertsMethod, RejectsInvalidExpertNumbers) {
  const Model model = experts_model("mixtral");
  Choice choice = without_one(model);
  choice.kept.front().back() = 99;
  EXPECT_ERROR_SAYING(ErrorKind::format, without_others(model, choice), "different numbers");
  choice.kept.pop_back();
  EXPECT_ERROR_SAYING(ErrorKind::format, without_others(model, choice),
                      "expected one list per layer");
  EXPECT_NE(why_not(experts_model("llama"), choice.method), "");
  EXPECT_EQ(choice.method->sizes(model).back(), model.spec().layers.front().experts->chosen);
}

}  // namespace
}  // namespace attnscope::test
