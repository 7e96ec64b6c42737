// Named activations, compared with hooks on transformers. Expected values: tools/golden_hooks.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "attnscope/forward/hooks.h"
#include "tests/forward/golden_comparison.h"
#include "tests/support/golden_variants.h"

namespace attnscope {
namespace {

using namespace test;

/// Keeps all activations of a run of one text, by name and layer.
class KeepingHooks : public ForwardHooks {
 public:
  explicit KeepingHooks(bool changes = false) : changes_(changes) {}

  bool wants(HookPoint, std::int64_t) const override { return true; }
  bool changes(HookPoint, std::int64_t) const override { return changes_; }
  void visit(const HookedValues& seen) override {
    std::vector<float>& out = values[hook_name(seen.point)][seen.layer];
    EXPECT_TRUE(out.empty()) << hook_name(seen.point) << " twice in layer " << seen.layer;
    if (seen.values.data != nullptr) append(out, seen.values);
    for (const MatrixView<float>& map : seen.maps) append(out, map);
    for (const std::int64_t index : seen.indices) out.push_back(static_cast<float>(index));
  }

  std::map<std::string_view, std::map<std::int64_t, std::vector<float>>> values;

 private:
  bool changes_;
};

std::filesystem::path golden_file() {
  return std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/golden/hooks/expected.safetensors";
}

/// The cases of the golden file.
std::vector<std::string> golden_cases() {
  std::set<std::string> cases;
  const Checkpoint file = Checkpoint::open(golden_file());
  for (const CheckpointTensor& tensor : file.tensors()) {
    cases.insert(tensor.name.substr(0, tensor.name.find('/')));
  }
  return {cases.begin(), cases.end()};
}

/// The values of a tensor of integers or float32.
std::vector<float> numbers_of(const CheckpointTensor& tensor) {
  if (tensor.view.dtype != DType::i32) return values_of(tensor);
  const TokenIds ids = ids_of(tensor);
  return {ids.begin(), ids.end()};
}

class HooksGolden : public testing::TestWithParam<std::string> {};

/// Masked scores are −inf in both.
void expect_close(const std::vector<float>& got, std::vector<float> wanted, double tolerance,
                  const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  std::vector<float> finite = got;
  for (std::size_t at = 0; at < wanted.size(); ++at) {
    ASSERT_EQ(std::isinf(got[at]), std::isinf(wanted[at])) << what << " at " << at;
    if (std::isinf(wanted[at])) finite[at] = wanted[at] = 0;
  }
  EXPECT_LE(error_of(finite, wanted, 1), tolerance) << what;
}

TEST_P(HooksGolden, EqualTransformers) {
  const Model model = test::model_of({.model = GetParam()});
  const GoldenTensors expected(Checkpoint::open(golden_file()), GetParam() + "/");
  const TokenIds tokens = ids_of(*expected.find("tokens"));
  const ForwardPass pass(model, /*copy_weights=*/false, {});
  for (const bool changes : {false, true}) {
    KeepingHooks hooks(changes);
    pass.run(std::span(&tokens, 1), {.hooks = &hooks}, {});
    for (const std::string_view name : hook_names()) {
      const CheckpointTensor* wanted = expected.find(name);
      const auto found = hooks.values.find(name);
      if (name == "logits") continue;
      ASSERT_EQ(found != hooks.values.end(), wanted != nullptr) << name;
      if (wanted == nullptr) continue;
      const std::vector<float> all = numbers_of(*wanted);
      const CheckpointTensor* layers = expected.find(std::string(name) + ".layers");
      const TokenIds numbers = layers == nullptr ? TokenIds{0} : ids_of(*layers);
      ASSERT_EQ(numbers.size(), found->second.size()) << name;
      const std::size_t size = all.size() / numbers.size();
      for (std::size_t at = 0; at < numbers.size(); ++at) {
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(at * size);
        const bool is_weights = name == "pattern";
        expect_close(found->second.at(numbers[at]),
                     {first, first + static_cast<std::ptrdiff_t>(size)},
                     is_weights ? kMapsTolerance : kStatesTolerance,
                     std::string(name) + " of layer " + std::to_string(numbers[at]));
      }
    }
  }
}

TEST_P(HooksGolden, HaveTheStatedShapes) {
  const Model model = test::model_of({.model = GetParam()});
  const GoldenTensors expected(Checkpoint::open(golden_file()), GetParam() + "/");
  const TokenIds tokens = ids_of(*expected.find("tokens"));
  const ForwardPass pass(model, /*copy_weights=*/false, {});
  KeepingHooks hooks;
  pass.run(std::span(&tokens, 1), {.hooks = &hooks}, {});
  for (std::size_t at = 0; at + 1 < hook_names().size(); ++at) {  // all but the logits
    const auto point = static_cast<HookPoint>(at);
    for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
      const auto shape = hook_shape(pass, point, layer);
      const auto& layers = hooks.values[hook_name(point)];
      if (is_of_model(point)) continue;
      ASSERT_EQ(shape.has_value(), layers.contains(layer)) << hook_name(point) << layer;
      if (!shape) continue;
      const std::int64_t keys = is_map(point) ? std::ssize(tokens) : 1;
      EXPECT_EQ(std::ssize(layers.at(layer)), std::ssize(tokens) * keys * shape->columns())
          << hook_name(point);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, HooksGolden, testing::ValuesIn(golden_cases()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace attnscope
