// A layout file can say of a forward pass all that config.json and attnscope's own descriptions do.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attnscope/checkpoint/mapped_file.h"
#include "attnscope/forward/forward_pass.h"
#include "tests/support/expect_error.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kLayoutData = fs::path(ATTNSCOPE_SOURCE_DIR) / "tests" / "data";

/// Hidden states, maps and logits, one after the other.
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
    const char *layout, *name, *config;
  } cases[] = {
      {"llama", "llama", "config.yarn.json"},
      {"gpt2", "gpt2", "config.json"},
      {"bert", "bert", "config.json"},
      {"gemma2", "gemma2", "config.json"},
      {"dots1", "dots1", "config.json"},
      {"phimoe", "phimoe", "config.longrope.json"},
      {"qwen2_moe", "qwen2_moe-dense", "config.json"},
      {"qwen2_moe-stacked", "qwen2_moe-stacked", "config.json"},
      {"bloom", "bloom", "config.residual-of-norm.json"},
      {"mpt", "mpt", "config.clip.json"},
      {"falcon-rw", "falcon-rw", "config.json"},
      {"mpnet", "mpnet", "config.json"},
      {"deberta-v2-convolved", "deberta-v2-convolved", "config.json"},
      {"deberta-v2-own-projections", "deberta-v2-own-projections", "config.json"},
      {"esm-absolute", "esm-absolute", "config.json"},
  };
  for (const auto& [layout, name, config] : cases) {
    SCOPED_TRACE(layout);
    const fs::path folder = kLayoutData / "forward" / name;
    const fs::path file = folder / "model.safetensors";
    const Model by_config(Checkpoint::open(file),
                          parse_config(read_text_file(folder / config, 100'000), config));
    const Model by_layout =
        Model::open(file, kLayoutData / "layouts" / (std::string(layout) + ".json"));
    EXPECT_TRUE(running_outputs(by_layout) == running_outputs(by_config)) << "they differ";
  }
}

TEST(ForwardLayout, NeedsItsDescription) {
  const std::string weights_only = R"({"schema":"attnscope-layout/1","layers":3,"heads":3,
      "head_dim":8,"width":24,"prefix":"transformer.",
      "weights":[{"role":"o","tensor":"h.{layer}.attn.c_proj.weight","storage":"in_by_out"}]})";
  const Model model(Checkpoint::open(kLayoutData / "forward/gpt2/model.safetensors"),
                    parse_layout(weights_only, "my/layout.json"));
  EXPECT_ERROR_SAYING(ErrorKind::unsupported, ForwardPass(model, true, {}),
                      "my/layout.json: does not describe the forward pass");
}

/// Of tests/data/forward/llama, whose MLPs add nothing: what they give is multiplied by zeros.
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
  layout.erase("mlp_width");
  const auto open = [&] {
    return Model(Checkpoint::open(file), parse_layout(layout.dump(), "my/layout.json"));
  };
  EXPECT_ERROR_SAYING(ErrorKind::format, ForwardPass(open(), true, {}),
                      "my/layout.json: describes no MLP (say \"mlp\": false");
  layout["mlp"] = false;
  EXPECT_TRUE(running_outputs(open()) == running_outputs(zeros)) << "they differ";
}

TEST(ForwardLayout, AHeadThatIsNamedMustBeThere) {
  json layout = json::parse(read_text_file(kLayoutData / "layouts/llama.json", 100'000));
  const auto pass_of = [&](const Model& model) { return ForwardPass(model, true, {}); };
  const auto open = [&] {
    return Model(Checkpoint::open(kLayoutData / "forward/llama/model.safetensors"),
                 parse_layout(layout.dump(), "my/layout.json"));
  };
  layout["output_head"] = "lm_heed.weight";
  const Model wrong = open();
  EXPECT_ERROR_SAYING(ErrorKind::format, pass_of(wrong).check_head(),
                      "tensor 'lm_heed.weight' is missing", "my/layout.json");
  layout["tied"] = true;
  const Model tied = open();
  EXPECT_NO_THROW(pass_of(tied).check_head());
  layout["tied"] = false;
  layout.erase("output_head");
  const Model none = open();
  EXPECT_NO_THROW(pass_of(none).check_head()) << "it is described as a model without one";
  EXPECT_NE(pass_of(none).no_logits(), "");
}

TEST(ForwardLayout, ABiasBesideTheHeadIsUsed) {
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
