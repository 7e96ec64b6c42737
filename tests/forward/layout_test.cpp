// A layout file can describe everything that config.json and attnscope's architecture descriptions
// can.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attnscope/checkpoint/mapped_file.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/model/config/parse_config.h"
#include "attnscope/model/layout/layout_file.h"
#include "tests/support/expect_error.h"
#include "tests/support/golden_variants.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kLayoutData = fs::path(ATTNSCOPE_SOURCE_DIR) / "tests" / "data";

/// Hidden states, maps and logits, concatenated.
std::vector<float> running_outputs(const Model& model) {
  const std::vector<TokenIds> sequences = {{3, 1, 4, 1, 5, 9, 2, 6}, {7}};
  const ForwardPass pass(model, /*copy_weights=*/true, {});
  std::vector<float> out;
  const auto add = [&](MatrixView<const float> matrix) {
    for (std::int64_t row = 0; row < matrix.rows; ++row) {
      out.insert(out.end(), &matrix(row, 0), &matrix(row, 0) + matrix.cols);
    }
  };
  const ForwardObserver observer{
      .on_hidden_states = [&](std::int64_t, MatrixView<const float> states) { add(states); },
      .on_maps =
          [&](const LayerMaps& layer) {
            for (const MatrixView<const float>& map : layer.maps) add(map);
          }};
  const Matrix<float> last = pass.run(sequences, observer, {});
  EXPECT_EQ(pass.no_logits(), "");
  add(pass.logits(last.view(), {}).view());
  return out;
}

TEST(ForwardLayout, RunsAsWithConfigJson) {
  const struct {
    const char *layout, *name, *variant;
  } cases[] = {
      {"llama", "llama", "yarn"},
      {"gpt2", "gpt2", ""},
      {"bert", "bert", ""},
      {"gemma2", "gemma2", ""},
      {"dots1", "dots1", ""},
      {"phimoe", "phimoe", "longrope"},
      {"qwen2_moe", "qwen2_moe-dense", ""},
      {"qwen2_moe-stacked", "qwen2_moe-stacked", ""},
      {"bloom", "bloom", "residual-of-norm"},
      {"mpt", "mpt", "clip"},
      {"falcon-rw", "falcon-rw", ""},
      {"mpnet", "mpnet", ""},
      {"deberta-v2-convolved", "deberta-v2-convolved", ""},
      {"deberta-v2-own-projections", "deberta-v2-own-projections", ""},
      {"esm-absolute", "esm-absolute", ""},
      {"qwen3_next-dense", "qwen3_next-dense", ""},
      {"lfm2-bias", "lfm2-bias", ""},
      {"gemma4-experts", "gemma4-experts", ""},
      {"llama4", "llama4", ""},
  };
  for (const auto& [layout, name, variant] : cases) {
    SCOPED_TRACE(layout);
    const test::Variant known{.model = name, .name = variant};
    const fs::path file = known.folder() / "model.safetensors";
    const Model by_config(Checkpoint::open(file),
                          parse_config(test::config_of(known).dump(), known.title()));
    const Model by_layout =
        Model::open(file, kLayoutData / "layouts" / (std::string(layout) + ".json"));
    EXPECT_TRUE(running_outputs(by_layout) == running_outputs(by_config)) << "they differ";
  }
}

TEST(ForwardLayout, RequiresACompleteDescription) {
  const std::string weights_only = R"({"schema":"attnscope-layout/1","layers":3,"heads":3,
      "head_dim":8,"hidden_size":24,"prefix":"transformer.",
      "weights":[{"role":"o","tensor":"h.{layer}.attn.c_proj.weight","storage":"in_by_out"}]})";
  const Model model(Checkpoint::open(kLayoutData / "forward/gpt2/model.safetensors"),
                    parse_layout(weights_only, "my/layout.json"));
  EXPECT_ERROR_SAYING(ErrorKind::unsupported, ForwardPass(model, true, {}),
                      "my/layout.json: does not describe the forward pass");
}

/// tests/data/forward/llama with MLPs that add nothing, because their outputs are multiplied by
/// zeros.
std::string without_mlp_output(const test::TempFolder& folder) {
  const Checkpoint whole = Checkpoint::open(kLayoutData / "forward/llama/model.safetensors");
  std::vector<test::TensorToWrite> tensors;
  for (const CheckpointTensor& tensor : whole.tensors()) {
    std::string bytes(reinterpret_cast<const char*>(tensor.view.bytes.data()),
                      tensor.view.bytes.size());
    if (tensor.name.ends_with("down_proj.weight")) bytes.assign(bytes.size(), '\0');
    tensors.push_back({tensor.name, "BF16", tensor.view.shape, std::move(bytes)});
  }
  return folder.write("model.safetensors", test::safetensors_bytes(tensors)).string();
}

TEST(ForwardLayout, RunsLayersWithoutAnMlp) {
  const test::TempFolder folder;
  const fs::path file = without_mlp_output(folder);
  json layout = json::parse(read_text_file(kLayoutData / "layouts/llama.json", 100'000));
  const Model zeros(Checkpoint::open(file), parse_layout(layout.dump(), "layout.json"));

  layout["weights"].erase(layout["weights"].begin() + 4, layout["weights"].end());
  layout["norms"].erase("mlp_input");
  layout.erase("activation");
  layout.erase("intermediate_size");
  const auto open = [&] {
    return Model(Checkpoint::open(file), parse_layout(layout.dump(), "my/layout.json"));
  };
  EXPECT_ERROR_SAYING(ErrorKind::format, ForwardPass(open(), true, {}),
                      "my/layout.json: describes no MLP (set \"mlp\": false");
  layout["mlp"] = false;
  EXPECT_TRUE(running_outputs(open()) == running_outputs(zeros)) << "they differ";
}

/// tests/data/forward/llama with a learned sink for each of its 4 heads in both layers.
std::string with_sinks(const test::TempFolder& folder, const std::vector<float>& sinks) {
  const Checkpoint whole = Checkpoint::open(kLayoutData / "forward/llama/model.safetensors");
  std::vector<test::TensorToWrite> tensors;
  for (const CheckpointTensor& tensor : whole.tensors()) {
    tensors.push_back({tensor.name, "BF16", tensor.view.shape,
                       std::string(reinterpret_cast<const char*>(tensor.view.bytes.data()),
                                   tensor.view.bytes.size())});
  }
  const std::string bytes(reinterpret_cast<const char*>(sinks.data()),
                          sinks.size() * sizeof(float));
  for (const char* layer : {"0", "1"}) {
    tensors.push_back(
        {std::string("model.layers.") + layer + ".sinks", "F32", {std::ssize(sinks)}, bytes});
  }
  return folder.write("model.safetensors", test::safetensors_bytes(tensors)).string();
}

/// The maps of layer 0: (T, T) per head, concatenated.
std::vector<float> first_maps(const Model& model, const TokenIds& text) {
  const ForwardPass pass(model, /*copy_weights=*/true, {});
  std::vector<float> out;
  const ForwardObserver observer{.on_maps =
                                     [&](const LayerMaps& layer) {
                                       for (const MatrixView<const float>& map : layer.maps) {
                                         out.insert(out.end(), map.data,
                                                    map.data + map.rows * map.cols);
                                       }
                                     },
                                 .end_after_maps_of = 0};
  pass.run(std::span(&text, 1), observer, {});
  return out;
}

TEST(ForwardLayout, LearnedSinksTakeAShareOfEveryQuery) {
  const TokenIds text = {3, 1, 4, 1, 5, 9};
  const auto tokens = text.size();
  json layout = json::parse(read_text_file(kLayoutData / "layouts/llama.json", 100'000));
  const auto spec = [&] { return parse_layout(layout.dump(), "my/layout.json"); };
  const fs::path plain_file = kLayoutData / "forward/llama/model.safetensors";
  const std::vector<float> plain = first_maps(Model(Checkpoint::open(plain_file), spec()), text);
  layout["attention"]["sinks"] = "layers.{layer}.sinks";
  const std::vector<float> low = {2, 3, 3.5F, 4}, high = {4, 4, 4, 4};
  const test::TempFolder folder, other;
  const Model of_low(Checkpoint::open(with_sinks(folder, low)), spec());
  const Model of_high(Checkpoint::open(with_sinks(other, high)), spec());
  const std::vector<float> maps = first_maps(of_low, text), others = first_maps(of_high, text);
  ASSERT_EQ(plain.size(), 4 * tokens * tokens);
  for (std::size_t row = 0; row < 4 * tokens; ++row) {
    double sum = 0, other_sum = 0;
    for (std::size_t key = 0; key < tokens; ++key) {
      sum += static_cast<double>(maps[row * tokens + key]);
      other_sum += static_cast<double>(others[row * tokens + key]);
    }
    EXPECT_LT(sum, 1 - 1e-5);
    // With Z the sum of the other exponentials, e^sink / Z = 1 / sum − 1. Sums have an error of
    // 5e-7.
    const std::size_t head = row / tokens;
    const double ratio = std::exp(static_cast<double>(high[head]) - static_cast<double>(low[head]));
    const double error = 5e-7 * (1 / (1 - sum) + 1 / (1 - other_sum));
    EXPECT_NEAR((1 / other_sum - 1) / (1 / sum - 1), ratio, ratio * error);
    for (std::size_t key = 0; key < tokens; ++key) {
      EXPECT_NEAR(static_cast<double>(maps[row * tokens + key]) / sum,
                  static_cast<double>(plain[row * tokens + key]), 1e-6);
    }
  }
  EXPECT_ERROR_SAYING(ErrorKind::format,
                      ForwardPass(Model(Checkpoint::open(plain_file), spec()), true, {}),
                      "'model.layers.0.sinks' is missing");
  const test::TempFolder third;
  EXPECT_ERROR_SAYING(
      ErrorKind::format,
      ForwardPass(Model(Checkpoint::open(with_sinks(third, {1, 2})), spec()), true, {}),
      "'model.layers.0.sinks'", "[2]", "[4]");
}

TEST(ForwardLayout, RequiresANamedHeadToExist) {
  json layout = json::parse(read_text_file(kLayoutData / "layouts/llama.json", 100'000));
  const auto pass_of = [&](const Model& model) { return ForwardPass(model, true, {}); };
  const auto open = [&] {
    return Model(Checkpoint::open(kLayoutData / "forward/llama/model.safetensors"),
                 parse_layout(layout.dump(), "my/layout.json"));
  };
  layout["lm_head"] = "lm_heed.weight";
  const Model wrong = open();
  EXPECT_ERROR_SAYING(ErrorKind::format, pass_of(wrong).check_head(),
                      "tensor 'lm_heed.weight' is missing", "my/layout.json");
  layout["tied"] = true;
  const Model tied = open();
  EXPECT_NO_THROW(pass_of(tied).check_head());
  layout["tied"] = false;
  layout.erase("lm_head");
  const Model none = open();
  EXPECT_NO_THROW(pass_of(none).check_head()) << "it is described as a model without one";
  EXPECT_NE(pass_of(none).no_logits(), "");
}

TEST(ForwardLayout, UsesABiasOfTheHead) {
  const test::TempFolder folder;
  const Checkpoint whole = Checkpoint::open(kLayoutData / "forward/llama/model.safetensors");
  std::vector<test::TensorToWrite> tensors = {test::counting_tensor("lm_head.bias", {48})};
  for (const CheckpointTensor& tensor : whole.tensors()) {
    tensors.push_back({tensor.name, "BF16", tensor.view.shape,
                       std::string(reinterpret_cast<const char*>(tensor.view.bytes.data()),
                                   tensor.view.bytes.size())});
  }
  const fs::path file = folder.write("model.safetensors", test::safetensors_bytes(tensors));
  const std::vector<float> with =
      running_outputs(Model::open(file, kLayoutData / "layouts/llama.json"));
  const std::vector<float> without = running_outputs(Model::open(
      kLayoutData / "forward/llama/model.safetensors", kLayoutData / "layouts/llama.json"));
  ASSERT_EQ(with.size(), without.size());
  EXPECT_NEAR(with.back() - without.back(), 47, 1e-4);
}

}  // namespace
}  // namespace attnscope
