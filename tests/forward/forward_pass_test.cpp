// Guarantees of a forward pass apart from its outputs, which golden_test.cpp checks.
#include "attnscope/forward/forward_pass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/compute.h"
#include "tests/support/expect_error.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

const fs::path kCases = fs::path(ATTNSCOPE_SOURCE_DIR) / "tests/data/forward";

std::string text_of(const fs::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

Model model_of(const std::string& name) { return Model::open(kCases / name); }

/// The hidden states of all layers, concatenated.
std::vector<float> states_of(const ForwardPass& pass, const std::vector<TokenIds>& sequences,
                             const Compute& compute = {}) {
  std::vector<float> all;
  const ForwardObserver observer{
      .on_hidden_states = [&](std::int64_t, MatrixView<const float> states) {
        for (std::int64_t row = 0; row < states.rows; ++row) {
          all.insert(all.end(), &states(row, 0), &states(row, 0) + states.cols);
        }
      }};
  pass.run(sequences, observer, compute);
  return all;
}

/// A copy of a checkpoint whose tensors `change` may modify. If it returns false, the tensor is
/// omitted.
template <class Change>
Model changed_model(const test::TempFolder& folder, const std::string& name, Change&& change) {
  const Checkpoint whole = Checkpoint::open(kCases / name);
  std::vector<test::TensorToWrite> tensors;
  for (const CheckpointTensor& tensor : whole.tensors()) {
    test::TensorToWrite copy{
        .name = tensor.name,
        .dtype = std::string(dtype_name(tensor.view.dtype)),
        .shape = tensor.view.shape,
        .bytes = std::string(reinterpret_cast<const char*>(tensor.view.bytes.data()),
                             tensor.view.bytes.size())};
    if (change(copy)) tensors.push_back(std::move(copy));
  }
  folder.write("model.safetensors", test::safetensors_bytes(tensors));
  folder.write("config.json", text_of(kCases / name / "config.json"));
  return Model::open(folder.path());
}

TEST(ForwardPass, RejectsInvalidTexts) {
  const Model model = model_of("gpt2");
  const ForwardPass pass(model, true, {});
  const std::int64_t vocabulary = pass.vocabulary();
  EXPECT_ERROR_SAYING(ErrorKind::usage, pass.check({}), "no tokens");
  EXPECT_ERROR_SAYING(ErrorKind::usage, pass.check({1, -1}), "token id -1 (position 1)",
                      "ids 0 to");
  EXPECT_ERROR_SAYING(ErrorKind::usage, pass.check({vocabulary}),
                      "ids 0 to " + std::to_string(vocabulary - 1));
  const std::int64_t context = *model.dimensions().context;
  pass.check(TokenIds(static_cast<std::size_t>(context), 1));
  EXPECT_ERROR_SAYING(ErrorKind::usage, pass.check(TokenIds(static_cast<std::size_t>(context) + 1)),
                      "longer than the " + std::to_string(context));
}

TEST(ForwardPass, RunsPreparedStatesLikeTokens) {
  const Model model = model_of("gpt2");
  const ForwardPass pass(model, true, {});
  const std::vector<TokenIds> texts = {{3, 1, 4, 1, 5}, {9, 2, 6}};
  PreparedStates prepared{.lengths = {5, 3}};
  const ForwardObserver keep{
      .on_hidden_states = [&](std::int64_t index, MatrixView<const float> states) {
        if (index > 0) return;
        prepared.states = Matrix<float>(states.rows, states.cols);
        std::copy_n(states.data, states.rows * states.cols, prepared.states.data());
      }};
  const Matrix<float> expected = pass.run(texts, keep, {});
  const Matrix<float> got = pass.run(std::move(prepared), {}, {});
  ASSERT_EQ(got.rows(), expected.rows());
  EXPECT_EQ(std::memcmp(got.data(), expected.data(),
                        static_cast<std::size_t>(got.rows() * got.cols()) * sizeof(float)),
            0);
  EXPECT_THROW(pass.run(PreparedStates{.states = Matrix<float>(2, 3), .lengths = {2}}, {}, {}),
               std::invalid_argument);
}

TEST(ForwardPass, RotaryPositionsHaveNoLimit) {
  const Model model = model_of("llama");
  const ForwardPass pass(model, true, {});
  pass.check(TokenIds(static_cast<std::size_t>(10 * *model.dimensions().context), 1));
}

TEST(ForwardPass, BatchingDoesNotChangeASequence) {
  for (const char* name : {"bert", "llama", "gemma3", "daisy_gpt2", "gpt_neo"}) {
    const Model model = model_of(name);
    const ForwardPass pass(model, true, {});
    const TokenIds first = {1, 2, 3, 4, 5}, second = {6, 7};
    std::vector<float> alone;
    const ForwardObserver last{};
    for (const TokenIds& ids : {first, second}) {
      const Matrix<float> states = pass.run(std::vector<TokenIds>{ids}, last, {});
      alone.insert(alone.end(), states.data(), states.data() + states.rows() * states.cols());
    }
    const Matrix<float> states = pass.run(std::vector<TokenIds>{first, second}, last, {});
    ASSERT_EQ(alone.size(), static_cast<std::size_t>(states.rows() * states.cols()));
    EXPECT_EQ(std::memcmp(alone.data(), states.data(), alone.size() * sizeof(float)), 0) << name;
  }
}

TEST(ForwardPass, GivesTheSameBytesForAnyThreadsAndWithoutCopies) {
  const Model model = model_of("qwen3");
  const std::vector<TokenIds> sequences = {{1, 2, 3, 4, 5, 6}, {7, 8, 9}};
  const std::vector<float> alone = states_of(ForwardPass(model, true, {}), sequences);
  test::LentTeam lent(3);
  const ForwardPass pass(model, false, lent.compute());
  EXPECT_EQ(states_of(pass, sequences, lent.compute()), alone);
}

TEST(ForwardPass, StopsAfterTheRequestedMaps) {
  const Model model = model_of("llama");
  const ForwardPass pass(model, true, {});
  std::vector<std::int64_t> layers;
  const ForwardObserver observer{.on_maps =
                                     [&](const LayerMaps& maps) {
                                       layers.push_back(maps.layer);
                                       ASSERT_EQ(std::ssize(maps.maps), 2 * maps.heads);
                                       EXPECT_EQ(maps.map(1, 0).rows, 2);
                                       float sum = 0;  // attention weights of the last query
                                       for (std::int64_t key = 0; key < 3; ++key)
                                         sum += maps.map(0, 1)(2, key);
                                       EXPECT_NEAR(sum, 1, 1e-6);
                                       EXPECT_EQ(maps.map(0, 0)(0, 1), 0) << "a later key";
                                     },
                                 .end_after_maps_of = 0};
  const Matrix<float> states = pass.run(std::vector<TokenIds>{{1, 2, 3}, {4, 5}}, observer, {});
  EXPECT_EQ(states.rows(), 0);
  EXPECT_EQ(layers, (std::vector<std::int64_t>{0}));
}

TEST(ForwardPass, NamesTheFirstLayerThatGivesNan) {
  const test::TempFolder folder;
  const Model model = changed_model(folder, "llama", [](test::TensorToWrite& tensor) {
    if (tensor.name == "model.layers.1.mlp.up_proj.weight") {
      const float nan = std::numeric_limits<float>::quiet_NaN();
      std::memcpy(tensor.bytes.data(), &nan, sizeof nan);
    }
    return true;
  });
  const ForwardPass pass(model, true, {});
  EXPECT_ERROR_SAYING(ErrorKind::numerical, pass.run(std::vector<TokenIds>{{1, 2}}, {}, {}),
                      "model.safetensors", "layer 1 outputs NaN");
}

TEST(ForwardPass, NamesTheMissingTensor) {
  for (const auto& [name, tensor] :
       {std::pair("llama", "model.layers.0.post_attention_layernorm.weight"),
        std::pair("llama", "model.layers.1.self_attn.o_proj.weight"),
        std::pair("gpt2", "transformer.wpe.weight"),
        std::pair("bert", "bert.encoder.layer.0.attention.self.key.bias"),
        std::pair("bert", "bert.embeddings.LayerNorm.bias")}) {
    const test::TempFolder folder;
    const Model model = changed_model(
        folder, name, [&, skipped = std::string(tensor)](const test::TensorToWrite& written) {
          return written.name != skipped;
        });
    const std::string key = std::string(tensor).ends_with("key.bias")
                                ? "bert.encoder.layer.0.attention.self.key.weight"
                                : tensor;
    EXPECT_ERROR_SAYING(ErrorKind::format, ForwardPass(model, true, {}), key, "missing");
  }
}

TEST(ForwardPass, HasNoLogitsWithoutAHead) {
  for (const char* name : {"bert-body", "llama-body"}) {
    const Model model = model_of(name);
    const ForwardPass pass(model, true, {});
    EXPECT_FALSE(pass.no_logits().empty()) << name;
    const Matrix<float> states = pass.run(std::vector<TokenIds>{{1, 2}}, {}, {});
    EXPECT_ERROR(ErrorKind::unsupported, pass.logits(states.view(), {}));
  }
}

TEST(ForwardPass, StopsOnRequest) {
  const Model model = model_of("llama");
  const ForwardPass pass(model, true, {});
  std::stop_source source;
  const ForwardObserver observer{.on_maps = [&](const LayerMaps&) { source.request_stop(); }};
  EXPECT_THROW(pass.run(std::vector<TokenIds>{{1, 2, 3}}, observer, {.stop = source.get_token()}),
               Stopped);
}

}  // namespace
}  // namespace attnscope
