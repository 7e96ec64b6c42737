// Mixture-of-experts settings in config.json. Expected values are those of transformers 5.
#include "attnscope/model/config/expert_config.h"

#include <gtest/gtest.h>

#include <string>

#include "attnscope/model/config/parse_config.h"
#include "tests/model/spec_of.h"
#include "tests/support/expect_error.h"

namespace attnscope::test {
namespace {

using nlohmann::json;

/// Marks which of the three layers are MoE layers: "-xx".
std::string expert_layers(const char* model_type, const json& changes) {
  const ModelSpec spec = spec_of(model_type, changes);
  std::string layers;
  for (std::int64_t layer = 0; layer < spec.dimensions.layers; ++layer) {
    EXPECT_EQ(spec.layers[static_cast<std::size_t>(layer)].experts.has_value(),
              spec.has_experts(layer));
    layers += spec.has_experts(layer) ? 'x' : '-';
  }
  return layers;
}

TEST(ExpertConfig, ListsTheMoeLayers) {
  const struct {
    const char* type;
    json changes;
    const char* layers;
  } cases[] = {
      {"mixtral", json::object(), "xxx"},
      {"qwen2_moe", json::object(), "xxx"},
      {"qwen2_moe", {{"decoder_sparse_step", 2}}, "-x-"},
      {"qwen2_moe", {{"decoder_sparse_step", 4}}, "---"},
      {"qwen2_moe", {{"mlp_only_layers", {1, 7}}}, "x-x"},
      {"qwen2_moe", {{"mlp_only_layers", nullptr}}, "xxx"},
      {"qwen2_moe", {{"num_experts", 0}}, "---"},
      {"glm4_moe", json::object(), "-xx"},
      {"glm4_moe", {{"first_k_dense_replace", 0}}, "xxx"},
      {"glm4_moe", {{"first_k_dense_replace", 9}}, "---"},
      {"dots1", json::object(), "xxx"},
      {"llama", {{"num_local_experts", 8}}, "---"},
  };
  for (const auto& [type, changes, layers] : cases) {
    EXPECT_EQ(expert_layers(type, changes), layers) << type << " " << changes;
  }
}

TEST(ExpertConfig, UsesTransformersDefaultsForMissingValues) {
  const struct {
    const char* type;
    std::int64_t experts, chosen, width, shared_width;
  } cases[] = {{"mixtral", 8, 2, 14336, 0},
               {"phimoe", 16, 2, 6400, 0},
               {"qwen2_moe", 60, 4, 1408, 5632},
               {"qwen3_moe", 128, 8, 768, 0},
               {"glm4_moe", 128, 8, 1408, 1408}};
  for (const auto& [type, experts, chosen, width, shared_width] : cases) {
    SCOPED_TRACE(type);
    json silent = {{"model_type", type},
                   {"num_hidden_layers", 3},
                   {"num_attention_heads", 4},
                   {"num_key_value_heads", 4},
                   {"hidden_size", 32}};
    const ModelSpec spec = parse_config(silent.dump(), "config.json");
    EXPECT_EQ(spec.dimensions.experts, experts);
    EXPECT_EQ(spec.dimensions.expert_width, width);
    EXPECT_EQ(spec.dimensions.shared_width, shared_width);
    EXPECT_EQ(spec.layers.back().experts->chosen, chosen);
  }
}

TEST(ExpertConfig, DoesNotCountADraftHeadAsALayer) {
  EXPECT_EQ(spec_of("glm4_moe", {{"num_nextn_predict_layers", 2}}).dimensions.layers, 3);
}

TEST(ExpertConfig, RejectsInvalidValues) {
  const struct {
    const char* type;
    json changes;
    const char* problem;
  } cases[] = {
      {"mixtral",
       {{"num_local_experts", 1'000'000'000}},
       "1000000000 experts exceed the limit of 65536"},
      {"mixtral",
       {{"num_local_experts", -3}},
       "'num_local_experts' is -3, expected a whole number from 0"},
      {"mixtral", {{"num_local_experts", 2.5}}, "'num_local_experts' is 2.5, expected a whole"},
      {"mixtral", {{"num_experts_per_tok", 9}}, "selects 9 of 4 experts"},
      {"mixtral", {{"num_experts_per_tok", 0}}, "'num_experts_per_tok' is 0, expected a whole"},
      {"mixtral", {{"intermediate_size", -1}}, "'intermediate_size' is -1, expected a whole"},
      {"phimoe",
       {{"num_experts_per_tok", 3}},
       "selects 3 experts, but its router type always selects 2"},
      {"phimoe",
       {{"router_jitter_noise", -1}},
       "'router_jitter_noise' is -1, expected a non-negative number"},
      {"dots1", {{"n_routed_experts", nullptr}}, "has no 'n_routed_experts'"},
      {"dots1",
       {{"n_routed_experts", 8}, {"n_group", 3}},
       "8 experts cannot be divided into 3 groups of the same size"},
      {"dots1",
       {{"n_routed_experts", 8}, {"n_group", 8}, {"topk_group", 2}},
       "groups of 1 expert cannot be scored by their two best experts"},
      {"dots1",
       {{"n_routed_experts", 8}, {"n_group", 2}, {"topk_group", 3}},
       "selects 3 of 2 groups of experts"},
      {"dots1",
       {{"n_routed_experts", 8}, {"n_group", 4}, {"num_experts_per_tok", 3}},
       "selects 3 experts from 1 group of 2"},
      {"dots1", {{"n_group", -1}}, "'n_group' is -1, expected a whole number from 1"},
      {"dots1",
       {{"n_shared_experts", 1'000'000'000}},
       "1000000000 shared experts of width 1408 exceed the limit"},
      {"dots1", {{"routed_scaling_factor", -1}}, "'routed_scaling_factor' is -1, expected"},
      {"qwen2_moe", {{"mlp_only_layers", {-1}}}, "'mlp_only_layers' is not a list of layers"},
      {"qwen2_moe", {{"mlp_only_layers", 1}}, "'mlp_only_layers' is not a list of layers"},
      {"qwen2_moe", {{"decoder_sparse_step", 0}}, "'decoder_sparse_step' is 0, expected a whole"},
  };
  for (const auto& row : cases) {
    const auto& type = row.type;  // lambdas cannot capture structured bindings
    const auto& changes = row.changes;
    const auto& problem = row.problem;
    SCOPED_TRACE(std::string(type) + " " + changes.dump());
    EXPECT_ERROR_SAYING(ErrorKind::format, spec_of(type, changes), problem);
  }
}

}  // namespace
}  // namespace attnscope::test
