// GGUF files of every architecture, compared with the safetensors files that they were converted
// from (tools/make_gguf_files.py): the same tensors, and the same logits bit for bit.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/model/config/parse_config.h"
#include "attnscope/tensor/tensor_matrix.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

const fs::path kData = fs::path(ATTNSCOPE_SOURCE_DIR) / "tests/data";

struct Case {
  const char* file;    // in tests/data/gguf
  const char* folder;  // in tests/data/forward
  const char* config;  // in tests/data/gguf; empty: the folder's config
  bool whole_gains = false;
  float rounded = 0;     // relative rounding error of the stored values
  double tolerance = 0;  // relative to the largest output, if values are rounded
};

void PrintTo(const Case& model, std::ostream* out) { *out << model.file; }

std::string file_text(const fs::path& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

Model transformers_form(const Case& model) {
  const fs::path folder = kData / "forward" / model.folder;
  const fs::path config = *model.config != '\0' ? kData / "gguf" / model.config  //
                                                : folder / "config.json";
  return Model(Checkpoint::open(folder / "model.safetensors"),
               parse_config(file_text(config), config.string()));
}

/// The last hidden states of a text, and its logits if the model has an LM head.
std::vector<float> outputs_of(const Model& model) {
  const ForwardPass pass(model, /*copy_weights=*/false, {});
  const std::vector<TokenIds> texts = {{5, 6, 7, 3, 11, 4, 9, 8, 10}};
  const Matrix<float> last = pass.run(texts, {}, {});
  std::vector<float> out(last.data(), last.data() + last.rows() * last.cols());
  if (pass.no_logits().empty()) {
    const Matrix<float> logits = pass.logits(last.view(), {});
    out.insert(out.end(), logits.data(), logits.data() + logits.rows() * logits.cols());
  }
  return out;
}

/// All values of a tensor. A 1-D tensor gives one row.
Matrix<float> view_values(const TensorView& view) {
  if (view.shape.size() == 2) return decode<float>(whole_matrix(view));
  const auto size = view.element_count();
  return decode<float>(TensorMatrix{.tensor = view, .rows = 1, .cols = size, .block_rows = 1});
}

class GgufModel : public testing::TestWithParam<Case> {};

TEST_P(GgufModel, EqualsTheOriginal) {
  const Case& of = GetParam();
  const Model wanted = transformers_form(of);
  const Model got = Model::open(kData / "gguf" / of.file);
  const std::string& name = wanted.spec().architecture.name;
  EXPECT_EQ(got.spec().architecture.name, name == "mistral" ? "llama" : name);
  for (const CheckpointTensor& tensor : got.checkpoint().tensors()) {
    SCOPED_TRACE(tensor.name);
    const CheckpointTensor* expected = wanted.checkpoint().find(tensor.name);
    if (expected == nullptr) expected = wanted.checkpoint().find("bert." + tensor.name);
    ASSERT_NE(expected, nullptr);
    ASSERT_EQ(tensor.view.shape, expected->view.shape);
    const bool gain = of.whole_gains && tensor.name.ends_with("norm.weight");
    const Matrix<float> ours = view_values(tensor.view), theirs = view_values(expected->view);
    for (std::int64_t row = 0; row < ours.rows(); ++row) {
      for (std::int64_t col = 0; col < ours.cols(); ++col) {
        const float meant = theirs(row, col) + (gain ? 1.0F : 0.0F);
        ASSERT_LE(std::abs(ours(row, col) - meant), of.rounded * (0x1p-14F + std::abs(meant)))
            << row << ", " << col;
      }
    }
  }

  const std::vector<float> ours = outputs_of(got), theirs = outputs_of(wanted);
  // The GGUF file of BERT has no LM head.
  ASSERT_LE(ours.size(), theirs.size());
  double largest = 0, difference = 0;
  for (std::size_t at = 0; at < ours.size(); ++at) {
    const double expected = theirs[at], found = ours[at];
    largest = std::max(largest, std::abs(expected));
    difference = std::max(difference, std::abs(found - expected));
  }
  EXPECT_GT(largest, 0);
  EXPECT_LE(difference, of.tolerance * largest);
}

/// The divisors of RoPE frequencies are rounded to float32. This changes queries and keys by a few
/// units in the last place.
constexpr double kTurned = 2e-6;
/// float16 has 11 significant bits, or steps of 6e-8 below 6e-5. A state is a sum of a few hundred
/// values.
constexpr float kHalf = 0x1p-11F;
constexpr double kOfHalves = 1e-2;

INSTANTIATE_TEST_SUITE_P(
    EveryArchitecture, GgufModel,
    testing::Values(
        Case{"llama.f32.gguf", "llama", ""}, Case{"llama.f16.gguf", "llama", ""},
        Case{"llama-tied.f16.gguf", "llama-tied", ""},
        Case{"llama-bias.f32.gguf", "llama-bias", ""},
        Case{"llama-bias.f16.gguf", "llama-bias", ""},
        Case{"llama-linear.f16.gguf", "llama-tied", "llama-linear.json"},
        Case{"llama-yarn.f16.gguf", "llama-tied", "llama-yarn.json"},
        Case{"llama-llama3.f16.gguf", "llama-tied", "llama-llama3.json", false, 0, kTurned},
        Case{"mistral.f16.gguf", "mistral", "mistral.json"},
        Case{"qwen2.f32.gguf", "qwen2-tied", ""}, Case{"qwen2.f16.gguf", "qwen2-tied", ""},
        Case{"qwen3.f32.gguf", "qwen3", ""},
        Case{"qwen3.f16.gguf", "qwen3", "", false, kHalf, kOfHalves},
        Case{"gemma.f32.gguf", "gemma", "", true},
        Case{"gemma.f16.gguf", "gemma", "", true, kHalf, kOfHalves},
        Case{"gemma2.f32.gguf", "gemma2", "gemma2.json", true},
        Case{"gemma2.f16.gguf", "gemma2", "gemma2.json", true, kHalf, kOfHalves},
        Case{"gemma3.f32.gguf", "gemma3", "gemma3.json", true},
        Case{"gemma3.f16.gguf", "gemma3", "gemma3.json", true, kHalf, kOfHalves},
        Case{"phi.f32.gguf", "phi", ""}, Case{"phi.f16.gguf", "phi", ""},
        Case{"phi3.f32.gguf", "phi3", ""}, Case{"phi3.f16.gguf", "phi3", ""},
        Case{"phi3-longrope.f16.gguf", "phi3", "phi3-longrope.json"},
        Case{"gpt2.f32.gguf", "gpt2", ""}, Case{"gpt2.f16.gguf", "gpt2", ""},
        Case{"gpt_neox.f32.gguf", "gpt_neox", ""}, Case{"gpt_neox.f16.gguf", "gpt_neox", ""},
        Case{"gpt_neox-sequential.f16.gguf", "gpt_neox", "gpt_neox-sequential.json"},
        Case{"bert.f32.gguf", "bert", ""},
        Case{"bert.f16.gguf", "bert", "", false, kHalf, kOfHalves},
        // The same model in other file layouts.
        Case{"split-00001-of-00004.gguf", "llama-tied", ""},
        Case{"split-00003-of-00004.gguf", "llama-tied", ""},
        Case{"big-endian.gguf", "llama-tied", ""}, Case{"version2.gguf", "llama-tied", ""}));

}  // namespace
}  // namespace attnscope
