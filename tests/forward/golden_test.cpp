// The forward pass of every architecture and variant, compared with transformers. Expected values:
// tools/golden_forward.py.
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/model/summary.h"
#include "tests/forward/golden_comparison.h"
#include "tests/support/golden_variants.h"

namespace attnscope {
namespace {

using namespace test;

/// The outputs of one run for each sequence, in the order of the expected tensors.
struct Outputs {
  std::vector<float> hidden_states, last_hidden_state, attentions, logits;
};

std::vector<Outputs> run(const ForwardPass& pass, const std::vector<TokenIds>& inputs) {
  std::vector<Outputs> out(inputs.size());
  const auto each_sequence = [&](MatrixView<const float> rows, auto&& take) {
    std::int64_t first = 0;
    for (std::size_t at = 0; at < inputs.size(); ++at) {
      take(out[at], rows.row_block(first, std::ssize(inputs[at])));
      first += std::ssize(inputs[at]);
    }
  };
  const std::int64_t width = pass.model().dimensions().width;
  const ForwardObserver observer{
      .on_hidden_states =
          [&](std::int64_t, MatrixView<const float> states) {
            each_sequence(states, [&](Outputs& of, MatrixView<const float> rows) {
              append(rows.cols == width ? of.hidden_states : of.last_hidden_state, rows);
            });
          },
      .on_maps =
          [&](const LayerMaps& layer) {
            for (std::size_t at = 0; at < inputs.size(); ++at) {
              for (std::int64_t head = 0; head < layer.heads; ++head) {
                append(out[at].attentions, layer.map(static_cast<std::int64_t>(at), head));
              }
            }
          }};
  const Matrix<float> last = pass.run(inputs, observer, {});
  if (pass.no_logits().empty()) {
    const Matrix<float> logits = pass.logits(last.view(), {});
    each_sequence(logits.view(),
                  [](Outputs& of, MatrixView<const float> rows) { append(of.logits, rows); });
  }
  return out;
}

class ForwardGolden : public testing::TestWithParam<Variant> {};

TEST_P(ForwardGolden, EqualsTransformers) {
  const Variant& variant = GetParam();
  const Model model = model_of(variant);
  const GoldenTensors expected = expected_of(variant);
  const std::vector<TokenIds> inputs = texts_of(expected, "tokens");
  ASSERT_FALSE(inputs.empty());
  for (const bool copy_weights : {true, false}) {
    const ForwardPass pass(model, copy_weights, {});
    const std::vector<Outputs> got = run(pass, inputs);
    for (std::size_t at = 0; at < inputs.size(); ++at) {
      const auto compare = [&](const char* what, const std::vector<float>& values,
                               double tolerance) {
        const CheckpointTensor* wanted = expected.find(what + ("." + std::to_string(at)));
        if (wanted == nullptr) {
          EXPECT_TRUE(values.empty()) << what << " of input " << at << " should not be there";
          return;
        }
        const Shape& shape = wanted->view.shape;
        const std::int64_t parts = shape.size() > 2 ? shape[0] : 1;
        EXPECT_LE(error_of(values, values_of(*wanted), parts), tolerance)
            << what << " of input " << at << ", " << inputs[at].size() << " tokens";
      };
      compare("hidden_states", got[at].hidden_states, kStatesTolerance);
      compare("last_hidden_state", got[at].last_hidden_state, kStatesTolerance);
      compare("attentions", got[at].attentions, kMapsTolerance);
      compare("logits", got[at].logits, kStatesTolerance);
    }
  }
}

TEST_P(ForwardGolden, ModelInfoStatesWhetherLogitsAreOverTokens) {
  const Model model = model_of(GetParam());
  const ForwardPass pass(model, /*copy_weights=*/false, {});
  EXPECT_EQ(summarize(model).tied_embedding.has_value(), pass.no_logits().empty())
      << pass.no_logits();
}

TEST(ForwardStacks, ModelInfoStatesWhetherLogitsAreOverTokens) {
  const auto data = std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/data/stacks";
  std::size_t with_logits = 0, without = 0;
  for (const char* name : {"bart", "clip", "siglip", "t5", "vit", "wav2vec2", "whisper"}) {
    const std::vector<Model> stacks =
        Model::open_stacks(Checkpoint::open(data / name), std::nullopt, name);
    for (const Model& model : stacks) {
      if (model.stack() == "cross") {
        EXPECT_EQ(summarize(model).tied_embedding, std::nullopt) << model.name();
        continue;
      }
      const ForwardPass pass(model, /*copy_weights=*/false, {});
      const bool has_logits = pass.no_logits().empty();
      EXPECT_EQ(summarize(model).tied_embedding.has_value(), has_logits) << model.name();
      ++(has_logits ? with_logits : without);
    }
  }
  EXPECT_GE(with_logits, 3u);
  EXPECT_GE(without, 6u);
}

INSTANTIATE_TEST_SUITE_P(Cases, ForwardGolden, testing::ValuesIn(all_variants()), name_of_case);

}  // namespace
}  // namespace attnscope
