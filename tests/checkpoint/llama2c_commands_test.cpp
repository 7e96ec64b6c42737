// A trained model in the formats of transformers and llama2.c: every command reports the same for
// each.
#include <bit>
#include <functional>
#include <limits>
#include <map>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/tensor/decode.h"
#include "tests/support/program.h"
#include "tests/support/safetensors_writer.h"

namespace attnscope::test {
namespace {

const std::string kExample = source_path("examples/shakespeare-llama");
constexpr int kLlama2cLayers = 6, kLlama2cHeads = 6, kKvHeads = 2, kLlama2cHeadDim = 32,
              kLlama2cWidth = 192, kMlp = 512, kTokens = 1024, kContext = 256;

std::string bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

/// Tensor values of the example model, and files written from them.
class Llama2c : public testing::Test {
 protected:
  Llama2c() : example_(Checkpoint::open(kExample)) {}

  std::vector<float> values(const std::string& name) const {
    const TensorView& view = example_.find(name)->view;
    std::vector<float> out(static_cast<std::size_t>(view.element_count()));
    decode_elements(view, 0, 1, std::ssize(out), out.data());
    return out;
  }

  /// Concatenates a tensor of all layers.
  std::string layers_of(const std::string& tensor, int heads = 0) const {
    std::string out;
    for (int layer = 0; layer < kLlama2cLayers; ++layer) {
      const std::vector<float> rows =
          values("model.layers." + std::to_string(layer) + "." + tensor + ".weight");
      out += bytes_of(heads == 0 ? rows : in_pairs(rows, heads));
    }
    return out;
  }

  /// Rotary pairs as adjacent rows. transformers stores them in two halves.
  static std::vector<float> in_pairs(const std::vector<float>& rows, int heads) {
    std::vector<float> out(rows.size());
    for (int head = 0; head < heads; ++head) {
      for (int row = 0; row < kLlama2cHeadDim; ++row) {
        const int from = head * kLlama2cHeadDim + row % 2 * kLlama2cHeadDim / 2 + row / 2;
        std::copy_n(rows.begin() + from * kLlama2cWidth, kLlama2cWidth,
                    out.begin() + (head * kLlama2cHeadDim + row) * kLlama2cWidth);
      }
    }
    return out;
  }

  std::string attention_matrices() const {
    return layers_of("self_attn.q_proj", kLlama2cHeads) + layers_of("self_attn.k_proj", kKvHeads) +
           layers_of("self_attn.v_proj") + layers_of("self_attn.o_proj");
  }
  std::string mlp_matrices() const {
    return layers_of("mlp.gate_proj") + layers_of("mlp.down_proj") + layers_of("mlp.up_proj");
  }
  static std::string numbers(const std::vector<std::int32_t>& all) {
    return {reinterpret_cast<const char*>(all.data()), all.size() * sizeof(std::int32_t)};
  }
  static std::vector<std::int32_t> sizes() {
    return {kLlama2cWidth, kMlp, kLlama2cLayers, kLlama2cHeads, kKvHeads, kTokens, kContext};
  }
  std::string whole(const std::string& name) const { return bytes_of(values(name)); }

  std::string version_0() const {
    return numbers(sizes()) + whole("model.embed_tokens.weight") + layers_of("input_layernorm") +
           attention_matrices() + layers_of("post_attention_layernorm") + mlp_matrices() +
           whole("model.norm.weight") +
           std::string(sizeof(float) * kContext * kLlama2cHeadDim, '\0');  // RoPE cosines and sines
  }
  std::string version_1() const {
    std::string header = "24ka" + numbers({1}) + numbers(sizes()) + '\1';
    header.resize(256, '\0');
    return header + layers_of("input_layernorm") + layers_of("post_attention_layernorm") +
           whole("model.norm.weight") + whole("model.embed_tokens.weight") + attention_matrices() +
           mlp_matrices();
  }

  /// The example in float32, with the constants that llama2.c assumes.
  std::string as_transformers() const {
    json config = json::parse(read_file(kExample + "/config.json"));
    config.update({{"rms_norm_eps", 1e-5}, {"bos_token_id", 1}, {"eos_token_id", 2}});
    std::vector<TensorToWrite> tensors;
    for (const CheckpointTensor& tensor : example_.tensors()) {
      tensors.push_back({tensor.name, "F32", tensor.view.shape, whole(tensor.name)});
    }
    folder_.write("model/config.json", config.dump());
    return folder_.write("model/model.safetensors", safetensors_bytes(tensors)).parent_path();
  }

  void expect_the_same(const std::string& file) const {
    const std::string wanted = as_transformers();
    const std::string path = folder_.write("model.bin", file).string();
    const std::string ids = "641,418,892,26,199,41,359,816,259,262,316,68";
    for (const Words& command : std::vector<Words>{{"info"},
                                                   {"spectrum", "--per-head"},
                                                   {"circuits", "--fold-norm"},
                                                   {"weights", "--layers", "2"},
                                                   {"similarity", "--layers", "3"},
                                                   {"attention", "--tokens", ids},
                                                   {"predict", "--tokens", ids, "--generate", "8"},
                                                   {"predict", "--tokens", ids, "--perplexity"}}) {
      SCOPED_TRACE(testing::PrintToString(command));
      const auto rows = [&](const std::string& model) {
        std::map<std::string, json> by_name;  // tensors, whose order differs between the formats
        std::vector<json> all;
        const json report = report_of(Words{command.front(), model, "--quiet"} +
                                      Words(command.begin() + 1, command.end()));
        for (json row : report["rows"]) {
          row.erase("model");
          if (row.contains("name")) by_name.emplace(row["name"], row);
          if (!row.contains("name")) all.push_back(row);
        }
        for (const auto& [name, row] : by_name) all.push_back(row);
        return all;
      };
      std::vector<json> expected = rows(wanted), found = rows(path);
      ASSERT_FALSE(expected.empty());
      ASSERT_EQ(found.size(), expected.size());
      // Rows of Q and K are in another order, and so are summed in another order. The sum of 36,864
      // terms may differ by one rounding per term, times 4 for fourth powers up to 4 σ⁴.
      const double rounding = 4 * 36'864 * std::numeric_limits<double>::epsilon();
      for (std::size_t row = 0; row < found.size(); ++row) {
        for (const char* moment : {"std", "skewness", "excess_kurtosis"}) {
          if (!found[row].contains(moment)) continue;
          EXPECT_NEAR(found[row][moment].get<double>(), expected[row][moment].get<double>(),
                      rounding);
          found[row].erase(moment);
          expected[row].erase(moment);
        }
      }
      EXPECT_EQ(found, expected);
    }
  }

  const Checkpoint example_;
  const TempFolder folder_;
};

TEST_F(Llama2c, Version0GivesTheSameRows) { expect_the_same(version_0()); }

TEST_F(Llama2c, Version1GivesTheSameRows) { expect_the_same(version_1()); }

TEST_F(Llama2c, RejectsFilesOfTheWrongLength) {
  const std::string file = version_1();
  for (const std::string& wrong : {file.substr(0, file.size() - 4), file + "four"}) {
    const std::string path = folder_.write("model.bin", wrong).string();
    expect_refusal({"info", path}, 4, {"model.bin"});
  }
}

}  // namespace
}  // namespace attnscope::test
