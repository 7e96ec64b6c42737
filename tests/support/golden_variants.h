// The golden models of tests/data/forward and tests/data/encoder_decoders: weights, the configs to
// read them with, and expected tensors. The files and their form: tools/golden_variants.py; how
// they are made: tools/golden_forward.py and golden_seq2seq.py.
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
  std::string model;             // the folder's name
  std::string name = {};         // "" for the main one, "eps"
  std::string spelling = {};     // "", or "old": as older files spell it
  std::string data = "forward";  // the folder of folders
  bool has_routing = false;      // those below are known of what variants_in() lists
  bool has_generated = false;

  std::filesystem::path folder() const;
  std::string title() const;  // "llama.eps.old"
};

void PrintTo(const Variant& variant, std::ostream* out);

/// All of tests/data/forward or tests/data/encoder_decoders, by name.
std::vector<Variant> variants_in(const std::string& data);

/// Those of tests/data/forward, listed once per process.
const std::vector<Variant>& all_variants();

nlohmann::json config_of(const Variant& variant);
Model model_of(const Variant& variant);

/// Tensors of a file whose names have a prefix; they are found without it.
class GoldenTensors {
 public:
  GoldenTensors(Checkpoint file, std::string prefix)
      : file_(std::move(file)), prefix_(std::move(prefix)) {}

  /// nullptr if there is none of this name.
  const CheckpointTensor* find(std::string_view name) const;

 private:
  Checkpoint file_;
  std::string prefix_;
};

/// Outputs of transformers, for the inputs 0, 1, …
GoldenTensors expected_of(const Variant& variant);
/// The experts that each layer chooses, if the variant has them.
GoldenTensors routing_of(const Variant& variant);
/// What transformers generates, if the variant has that.
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
