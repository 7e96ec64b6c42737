// AltUp, LAuReL and sparse gates of Gemma 3n in config.json.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "tests/model/spec_of.h"
#include "tests/support/expect_error.h"

namespace attnscope {
namespace {

using namespace test;
using nlohmann::json;

TEST(AltUpConfig, UsesTransformersDefaultsForMissingValues) {
  const ModelSpec spec = spec_of("gemma3n_text", {{"num_hidden_layers", 12}});
  const AltUpSpec& altup = *spec.stream.altup;
  EXPECT_EQ(altup.streams, 4);
  EXPECT_EQ(altup.active, 0);
  EXPECT_TRUE(altup.scaled);
  EXPECT_EQ(spec.layers.front().laurel->rank, 64);
  EXPECT_EQ(spec.layers.front().own_input->width, 256);
  // The quantile of the normal distribution for a share of 0.95, in the first 10 layers only.
  EXPECT_NEAR(*spec.layers[9].gate_cutoff, 1.6448536269514722, 1e-12);
  EXPECT_FALSE(spec.layers[10].gate_cutoff);
  EXPECT_FALSE(spec_of("gemma3n_text", {{"num_hidden_layers", 10}}).layers.front().gate_cutoff);
}

TEST(AltUpConfig, ReadsTheSparsityOfEachLayer) {
  const json shares = {0.5, 0, 0.0013498980316300957};
  const ModelSpec spec = spec_of("gemma3n_text", {{"activation_sparsity_pattern", shares}});
  EXPECT_NEAR(*spec.layers[0].gate_cutoff, 0, 1e-12);
  EXPECT_FALSE(spec.layers[1].gate_cutoff);
  EXPECT_NEAR(*spec.layers[2].gate_cutoff, -3, 1e-9);
}

TEST(AltUpConfig, RejectsInvalidValues) {
  const struct {
    json changes;
    const char* problem;
  } cases[] = {
      {{{"altup_active_idx", 4}}, "'altup_active_idx' is 4, expected 0 to 3"},
      {{{"altup_num_inputs", 900'000'000}}, "'altup_num_inputs' is 900000000, above the limit"},
      {{{"altup_num_inputs", 0}}, "'altup_num_inputs'"},
      {{{"activation_sparsity_pattern", 0.5}}, "is not a list with 3 numbers"},
      {{{"activation_sparsity_pattern", {0.5, 0.5}}}, "is not a list with 3 numbers"},
      {{{"activation_sparsity_pattern", {0.5, 1, 0.5}}}, "of layer 1 is not a share"},
      {{{"activation_sparsity_pattern", {0.5, -0.1, 0.5}}}, "of layer 1 is not a share"},
      {{{"activation_sparsity_pattern", {0.5, "0.5", 0.5}}}, "of layer 1 is not a share"},
  };
  for (const auto& row : cases) {
    const auto& changes = row.changes;
    const auto& problem = row.problem;
    SCOPED_TRACE(problem);
    EXPECT_ERROR_SAYING(ErrorKind::format, spec_of("gemma3n_text", changes), problem);
  }
}

}  // namespace
}  // namespace attnscope
