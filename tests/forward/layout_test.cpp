// A layout file can say of a forward pass all that config.json and attnscope's own descriptions do.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "attnscope/checkpoint/mapped_file.h"
#include "attnscope/forward/forward_pass.h"
#include "tests/support/expect_error.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

const fs::path kData = fs::path(ATTNSCOPE_SOURCE_DIR) / "tests" / "data";

/// Hidden states, maps and logits, one after the other.
std::vector<float> outputs_of(const Model& model) {
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
    const char *name, *config;
  } cases[] = {{"llama", "config.yarn.json"},
               {"gpt2", "config.json"},
               {"bert", "config.json"},
               {"gemma2", "config.json"}};
  for (const auto& [name, config] : cases) {
    SCOPED_TRACE(name);
    const fs::path folder = kData / "forward" / name;
    const fs::path file = folder / "model.safetensors";
    const Model by_config(Checkpoint::open(file),
                          parse_config(read_text_file(folder / config, 100'000), config));
    const Model by_layout = Model::open(file, kData / "layouts" / (std::string(name) + ".json"));
    EXPECT_TRUE(outputs_of(by_layout) == outputs_of(by_config)) << "they differ";
  }
}

TEST(ForwardLayout, NeedsItsDescription) {
  const std::string weights_only = R"({"schema":"attnscope-layout/1","layers":3,"heads":3,
      "head_dim":8,"width":24,"prefix":"transformer.",
      "weights":[{"role":"o","tensor":"h.{layer}.attn.c_proj.weight","storage":"in_by_out"}]})";
  const Model model(Checkpoint::open(kData / "forward/gpt2/model.safetensors"),
                    parse_layout(weights_only, "my/layout.json"));
  EXPECT_ERROR_SAYING(ErrorKind::unsupported, ForwardPass(model, true, {}),
                      "my/layout.json: does not describe the forward pass");
}

}  // namespace
}  // namespace attnscope
