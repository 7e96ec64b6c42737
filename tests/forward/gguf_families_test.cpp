// GGUF files of recent architectures (tools/make_gguf_family_files.py), compared with the
// safetensors files that they were converted from: the same tensors, and the same outputs bit for
// bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/tensor/decode.h"
#include "tests/support/gguf_families.h"

namespace attnscope {
namespace {

using namespace test;

std::vector<float> elements(const TensorView& view) {
  std::vector<float> out(static_cast<std::size_t>(view.element_count()));
  for (std::int64_t row = 0; row < view.rows(); ++row) {
    decode_elements(view, row * view.cols(), 1, view.cols(), out.data() + row * view.cols());
  }
  return out;
}

/// The tensor in transformers' format, with or without the model's prefix. Experts that are
/// separate tensors in GGUF may be stacked there.
const CheckpointTensor* original_of(const Model& wanted, const std::string& name) {
  for (const char* prefix : {"", "roberta.", "nomic_bert."}) {
    const CheckpointTensor* found = wanted.checkpoint().find(prefix + name);
    if (found != nullptr) return found;
  }
  constexpr std::string_view kModel = "model.";
  if (!name.starts_with(kModel)) return nullptr;
  return wanted.checkpoint().find("model.language_model." + name.substr(kModel.size()));
}

/// The value that GGUF stores: some gains with 1 added, and decay rates as −exp(A_log).
float kept(const std::string& name, float value, const GgufFamilyCase& of) {
  const bool linear = of.name.starts_with("qwen3_next") || of.name.starts_with("qwen3_5");
  if (linear && name.ends_with(".A_log")) return -std::exp(value);
  const bool whole_gain =
      (linear && !name.ends_with("linear_attn.norm.weight")) || of.name == "nemotron";
  return whole_gain && name.ends_with("norm.weight") ? value + 1.0F : value;
}

class GgufOfFamily : public testing::TestWithParam<GgufFamilyCase> {};

TEST_P(GgufOfFamily, HasTheTensorsOfTheOriginal) {
  const GgufFamilyCase& of = GetParam();
  const TempFolder folder;
  write_original(of, folder);
  const Model wanted = Model::open(folder.path()), got = Model::open(of.gguf);
  EXPECT_EQ(got.spec().architecture.name, wanted.spec().architecture.name);
  EXPECT_EQ(got.dimensions().layers, wanted.dimensions().layers);
  const std::string draft = ".layers." + std::to_string(got.dimensions().layers) + ".";
  std::size_t compared = 0;
  for (const CheckpointTensor& tensor : got.checkpoint().tensors()) {
    SCOPED_TRACE(tensor.name);
    const CheckpointTensor* expected = original_of(wanted, tensor.name);
    if (expected == nullptr) {
      const bool expert = tensor.name.find(".experts.") != std::string::npos;
      EXPECT_TRUE(expert || tensor.name.find(draft) != std::string::npos);
      continue;
    }
    ASSERT_EQ(tensor.view.shape, expected->view.shape);
    const std::vector<float> ours = elements(tensor.view), theirs = elements(expected->view);
    std::size_t first = 0;
    // The file omits position rows before the first position that a text uses.
    if (tensor.name == "embeddings.position_embeddings.weight") {
      first = 2 * static_cast<std::size_t>(tensor.view.cols());
      EXPECT_EQ(std::count(ours.begin(), ours.begin() + static_cast<std::ptrdiff_t>(first), 0.0F),
                static_cast<std::ptrdiff_t>(first));
    }
    for (std::size_t at = first; at < ours.size(); ++at) {
      ASSERT_EQ(ours[at], kept(tensor.name, theirs[at], of)) << at;
    }
    ++compared;
  }
  EXPECT_GT(compared, wanted.checkpoint().tensors().size() / 3);
}

/// The last hidden states of a text, and its logits if the model has an LM head.
TEST_P(GgufOfFamily, GivesTheSameOutputs) {
  const GgufFamilyCase& of = GetParam();
  const TempFolder folder;
  write_original(of, folder);
  const Model wanted = Model::open(folder.path()), got = Model::open(of.gguf);
  const std::vector<TokenIds> texts = {{5, 6, 7, 3, 11, 4, 9, 8, 10}};
  const ForwardPass ours(got, /*copy_weights=*/false, {}), theirs(wanted, false, {});
  const auto expect_same = [](const Matrix<float>& a, const Matrix<float>& b) {
    ASSERT_EQ(a.rows() * a.cols(), b.rows() * b.cols());
    for (std::int64_t at = 0; at < a.rows() * a.cols(); ++at) {
      ASSERT_EQ(a.data()[at], b.data()[at]) << at;
    }
  };
  const Matrix<float> last = ours.run(texts, {}, {}), expected = theirs.run(texts, {}, {});
  ASSERT_GT(last.rows() * last.cols(), 0);
  expect_same(last, expected);
  const bool encoder = !got.spec().causal;  // GGUF omits the heads of encoders
  EXPECT_EQ(ours.no_logits().empty(), !encoder) << ours.no_logits();
  if (!encoder) expect_same(ours.logits(last.view(), {}), theirs.logits(expected.view(), {}));
}

INSTANTIATE_TEST_SUITE_P(Families, GgufOfFamily, testing::ValuesIn(gguf_families()),
                         [](const auto& model) { return test_name(model.param.name); });

}  // namespace
}  // namespace attnscope
