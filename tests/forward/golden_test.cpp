// The forward pass of every architecture and variant, against transformers. What the files hold,
// and how they are made: tools/golden_forward.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/tensor/decode.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

const fs::path kCases = fs::path(ATTNSCOPE_SOURCE_DIR) / "tests/data/forward";

/// Of the largest value.
constexpr double kStatesTolerance = 2e-5;
constexpr double kMapsTolerance = 5e-5;

/// One config over the weights of a folder.
struct Variant {
  fs::path folder;
  std::string name;      // "" for the main one, ".eps"
  std::string spelling;  // "", ".old"

  fs::path config() const { return folder / ("config" + name + spelling + ".json"); }
  fs::path expected() const { return folder / ("expected" + name + ".safetensors"); }
};

void PrintTo(const Variant& variant, std::ostream* out) {
  *out << variant.folder.filename().string() << "/" << variant.config().filename().string();
}

std::vector<Variant> all_variants() {
  std::vector<Variant> out;
  for (const auto& folder : fs::directory_iterator(kCases)) {
    for (const auto& file : fs::directory_iterator(folder)) {
      std::string name = file.path().filename().string();
      if (!name.starts_with("config") || !name.ends_with(".json")) continue;
      name = name.substr(6, name.size() - 11);
      const bool old = name.ends_with(".old");
      if (old) name.resize(name.size() - 4);
      out.push_back({folder.path(), name, old ? ".old" : ""});
    }
  }
  std::sort(out.begin(), out.end(),
            [](const Variant& a, const Variant& b) { return a.config() < b.config(); });
  return out;
}

std::string text_of(const fs::path& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

std::vector<float> values_of(const CheckpointTensor& tensor) {
  std::vector<float> out(static_cast<std::size_t>(tensor.view.element_count()));
  decode_elements(tensor.view, 0, 1, std::ssize(out), out.data());
  return out;
}

TokenIds ids_of(const CheckpointTensor& tensor) {
  TokenIds ids;
  for (std::size_t at = 0; at < tensor.view.bytes.size(); at += sizeof(std::int32_t)) {
    std::int32_t id = 0;
    std::memcpy(&id, tensor.view.bytes.data() + at, sizeof id);
    ids.push_back(id);
  }
  return ids;
}

/// The largest difference, of the largest value. `parts`: equal parts, such as the hidden states of
/// each layer, that are judged each by its own largest value; the worst of them counts.
double error_of(const std::vector<float>& got, const std::vector<float>& wanted,
                std::int64_t parts) {
  if (got.size() != wanted.size()) return INFINITY;
  const std::size_t size = wanted.size() / static_cast<std::size_t>(parts);
  double worst = 0;
  for (std::size_t first = 0; first < wanted.size(); first += size) {
    double largest = 0, difference = 0;
    for (std::size_t at = first; at < first + size; ++at) {
      largest = std::max(largest, std::abs(static_cast<double>(wanted[at])));
      const double off = std::abs(static_cast<double>(got[at]) - static_cast<double>(wanted[at]));
      if (!(off <= difference)) difference = off;  // NaN counts
    }
    if (!(difference / largest <= worst)) worst = difference / largest;
  }
  return worst;
}

void append(std::vector<float>& out, MatrixView<const float> matrix) {
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    out.insert(out.end(), &matrix(row, 0), &matrix(row, 0) + matrix.cols);
  }
}

/// What one run gave of each of its sequences, in the order of the expected tensors.
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
  const Model model(Checkpoint::open(variant.folder / "model.safetensors"),
                    parse_config(text_of(variant.config()), variant.config().string()));
  const Checkpoint expected = Checkpoint::open(variant.expected());
  std::vector<TokenIds> inputs;
  while (const auto* ids = expected.find("tokens." + std::to_string(inputs.size()))) {
    inputs.push_back(ids_of(*ids));
  }
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

INSTANTIATE_TEST_SUITE_P(Cases, ForwardGolden, testing::ValuesIn(all_variants()),
                         [](const testing::TestParamInfo<Variant>& variant) {
                           std::string name = variant.param.folder.filename().string() +
                                              variant.param.name + variant.param.spelling;
                           for (char& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace attnscope
