// The golden models of tests/data/forward and tests/data/encoder_decoders: weights, configs, and
// expected tensors. tools/golden_variants.py describes the files. tools/golden_forward.py and
// golden_seq2seq.py write them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attnscope/base/model_inputs.h"
#include "attnscope/model/model.h"
#include "tests/support/json.h"

namespace attnscope::test {

/// One config for the weights of a folder.
struct Variant {
  std::string model;             // name of the folder
  std::string name = {};         // "" for the main variant, or such as "eps"
  std::string spelling = {};     // "", or "old" for older key names
  std::string data = "forward";  // the parent folder in tests/data
  bool has_routing = false;      // set only by variants_in(), like the fields below
  bool has_generated = false;

  std::filesystem::path folder() const;
  std::string title() const;  // such as "llama.eps.old"
};

void PrintTo(const Variant& variant, std::ostream* out);

/// All variants of tests/data/forward or tests/data/encoder_decoders, sorted by name.
std::vector<Variant> variants_in(const std::string& data);

/// All variants of tests/data/forward, listed once per process.
const std::vector<Variant>& all_variants();

nlohmann::json config_of(const Variant& variant);
Model model_of(const Variant& variant);

/// The tensors of a file whose names have a prefix, which is omitted in look-ups.
class GoldenTensors {
 public:
  GoldenTensors(Checkpoint file, std::string prefix)
      : file_(std::move(file)), prefix_(std::move(prefix)) {}

  /// nullptr if there is no tensor of this name.
  const CheckpointTensor* find(std::string_view name) const;

 private:
  Checkpoint file_;
  std::string prefix_;
};

/// Outputs of transformers for the inputs 0, 1, …
GoldenTensors expected_of(const Variant& variant);
/// The selected experts of each layer, if the variant has them.
GoldenTensors routing_of(const Variant& variant);
/// The tokens that transformers generates, if the variant has them.
GoldenTensors generated_of(const Variant& variant);

std::vector<float> values_of(const CheckpointTensor& tensor);
TokenIds ids_of(const CheckpointTensor& tensor);

/// The texts NAME.0, NAME.1, … of a file or of GoldenTensors.
template <class Tensors>
std::vector<TokenIds> texts_of(const Tensors& tensors, const std::string& name) {
  std::vector<TokenIds> texts;
  while (const auto* ids = tensors.find(name + "." + std::to_string(texts.size()))) {
    texts.push_back(ids_of(*ids));
  }
  return texts;
}

/// For INSTANTIATE_TEST_SUITE_P.
std::string name_of_case(const testing::TestParamInfo<Variant>& variant);

}  // namespace attnscope::test
