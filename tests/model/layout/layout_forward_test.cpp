// Fields of a layout file other than dimensions and weights.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attnscope/model/layout/layout_file.h"
#include "attnscope/model/model_spec.h"
#include "tests/support/expect_error.h"

namespace attnscope {
namespace {

using nlohmann::json;

json running_layout() {
  json layout = {{"schema", "attnscope-layout/1"},
                 {"layers", 2},
                 {"hidden_size", 32},
                 {"heads", 4},
                 {"head_dim", 8},
                 {"intermediate_size", 56}};
  layout["weights"] = {{{"role", "up"}, {"tensor", "up"}}};
  layout["embedding"] = {{"tokens", "wte"}};
  layout["norms"] = {{"epsilon", 1e-5}, {"attention_input", "ln_1"}, {"last", "ln_f"}};
  layout["activation"] = "relu";
  return layout;
}

TEST(LayoutForward, DescribesLayers) {
  auto layout = running_layout();
  layout["norms"]["query"] = "q_norm";
  layout["norms"]["key"] = "k_norm";
  layout["attention"] = {{"scale", 0.5}, {"by_layer", true}, {"soft_cap", 30}};
  layout["attention"]["window"] = {{"size", 7}, {"layers", {1}}};
  layout["rope"] = {{"theta", 1e6}, {"fraction", 0.5}, {"local_theta", 100}};
  layout["rope"]["scaling"] = {{"rope_type", "linear"}, {"factor", 8}};
  layout["biases"] = {"up"};
  layout["parallel"] = true;
  const ModelSpec spec = parse_layout(layout.dump(), "layout.json");
  EXPECT_EQ(spec.not_run, "");
  ASSERT_EQ(spec.layers.size(), 2u);
  const LayerSpec &first = spec.layers[0], &second = spec.layers[1];
  EXPECT_EQ(first.attention_input->tensor, "ln_1");
  EXPECT_EQ(first.attention_input->epsilon, 1e-5);
  EXPECT_EQ(first.attention_input->kind, NormKind::layer);
  EXPECT_EQ(first.mlp_input, std::nullopt);
  EXPECT_EQ(first.attention.query_norm->tensor, "q_norm");
  EXPECT_EQ(spec.stream.last_norm->tensor, "ln_f");
  EXPECT_EQ(first.attention.scale, 0.5);
  EXPECT_EQ(second.attention.scale, 0.25);
  EXPECT_EQ(first.attention.soft_cap, 30);
  EXPECT_EQ(first.attention.mask.reach, std::nullopt);
  EXPECT_EQ(second.attention.mask.reach, 6);
  EXPECT_EQ(first.attention.rope->theta, 1e6);
  EXPECT_EQ(first.attention.rope->scaling, RopeScaling::linear);
  EXPECT_EQ(second.attention.rope->theta, 100);
  EXPECT_EQ(second.attention.rope->scaling, RopeScaling::none);
  EXPECT_EQ(second.attention.rope->fraction, 0.5);
  EXPECT_EQ(first.activation, Activation::relu);
  EXPECT_EQ(first.biased, std::vector{Role::up});
  EXPECT_TRUE(first.parallel);

  for (const char* field : {"norms", "attention", "rope", "biases", "parallel", "activation"}) {
    layout.erase(field);
  }
  EXPECT_EQ(parse_layout(layout.dump(), "layout.json").not_run,
            "does not describe the forward pass");
}

TEST(LayoutForward, DescribesNormsAndRotationOfHeads) {
  auto layout = running_layout();
  layout["norms"]["query"] = "q_norm.{head}";
  layout["norms"]["biased"] = false;
  layout["norms"]["head_axis"] = "each_head";
  layout["norms"]["after_rotation"] = true;
  layout["attention"] = {{"clip", 3}, {"temperature", {{"growth", 0.25}, {"period", 10}}}};
  layout["rope"] = {{"dimensions", 6}, {"pairs", "neighbors"}, {"layers", {1}}};
  layout["multipliers"] = {{"embedding", 12}, {"branches", 0.5}, {"logits", 0.25}};
  const ModelSpec spec = parse_layout(layout.dump(), "layout.json");
  EXPECT_EQ(spec.not_run, "");
  const AttentionSpec &first = spec.layers[0].attention, &second = spec.layers[1].attention;
  EXPECT_EQ(first.query_norm->tensor, "q_norm.{head}");
  EXPECT_FALSE(first.query_norm->has_bias());
  EXPECT_FALSE(spec.stream.last_norm->has_bias());
  EXPECT_EQ(first.norm_axis, HeadNormAxis::each_head);
  EXPECT_TRUE(first.norms_after_rotation);
  EXPECT_EQ(first.clip, 3);
  EXPECT_EQ(first.temperature->growth, 0.25);
  EXPECT_EQ(first.temperature->period, 10);
  EXPECT_EQ(first.rope, std::nullopt);
  EXPECT_EQ(second.rope->dimensions, 6);
  EXPECT_EQ(second.rope->pairs, RotaryPairs::neighbors);
  EXPECT_EQ(spec.stream.embedding_factor, 12);
  EXPECT_EQ(spec.layers[1].branch_factor, 0.5);
  EXPECT_EQ(spec.head.factor, 0.25);
}

TEST(LayoutForward, LayersMayAttendWithinChunks) {
  auto layout = running_layout();
  layout["norms"]["bare_queries_and_keys"] = true;
  layout["norms"]["heads_if_rotated"] = true;
  layout["attention"] = {
      {"window", {{"size", 7}, {"chunked", true}, {"layers", {1}}}},
      {"temperature", {{"growth", 1}, {"period", 10}, {"first", 1}, {"unrotated_only", true}}}};
  layout["rope"] = {{"layers", {1}}};
  const ModelSpec spec = parse_layout(layout.dump(), "layout.json");
  EXPECT_EQ(spec.not_run, "");
  const AttentionSpec &first = spec.layers[0].attention, &second = spec.layers[1].attention;
  EXPECT_FALSE(first.rope || first.mask.chunk || first.query_norm || first.value_norm);
  EXPECT_EQ(first.temperature->first, 1);
  EXPECT_EQ(second.mask.chunk, 7);
  EXPECT_FALSE(second.mask.reach || second.temperature || second.value_norm);
  EXPECT_TRUE(second.query_norm && second.key_norm && !second.key_norm->has_gain());
}

TEST(LayoutForward, LayersMayEndWithTheirAttention) {
  json layout = running_layout();
  layout.erase("intermediate_size");
  layout.erase("activation");
  layout["mlp"] = false;
  layout["weights"] = {{{"role", "q"}, {"tensor", "q"}}};
  EXPECT_FALSE(parse_layout(layout.dump(), "layout.json").architecture.has_mlp);
  for (const auto& [patch, said] : std::vector<std::pair<const char*, const char*>>{
           {R"({"activation":"relu"})", "'activation' describes an MLP"},
           {R"({"parallel":true})", "'parallel' describes an MLP"},
           {R"({"biases":["down"]})", "'biases' describes an MLP"},
           {R"({"norms":{"mlp_input":"ln_2"}})", "'norms' describes an MLP"}}) {
    json wrong = layout;
    wrong.merge_patch(json::parse(patch));
    EXPECT_ERROR_SAYING(ErrorKind::format, parse_layout(wrong.dump(), "layout.json"), said);
  }
}

// Each of 10,000 layers keeps its own copy of names and lists.
TEST(LayoutForward, LimitsTheLengthOfNamesAndLists) {
  json layout = running_layout();
  layout["norms"]["last"] = std::string(1001, 'x');
  EXPECT_ERROR_SAYING(ErrorKind::format, parse_layout(layout.dump(), "layout.json"),
                      "'last' is longer than 1000 bytes");
  layout = running_layout();
  layout["rope"]["scaling"] = {{"rope_type", "longrope"},
                               {"short_factor", std::vector<double>(1025, 2)}};
  EXPECT_ERROR_SAYING(ErrorKind::format, parse_layout(layout.dump(), "layout.json"),
                      "'short_factor' contains more than 1024 numbers");
}

TEST(LayoutForward, RejectsMalformedFields) {
  const json audio = running_layout();
  ASSERT_NO_THROW(parse_layout(audio.dump(), "layout.json"));
  const struct {
    std::string_view patch, said;
  } patches[] = {
      {R"({"norms":"rms"})", "norms: is not a JSON object"},
      {R"({"norms":{"kind":"group"}})", "norms: 'kind' is 'group' (choices: layer, rms)"},
      {R"({"norms":{"epsilon":null}})", "norms: has no 'epsilon'"},
      {R"({"norms":{"epsilon":-1}})", "norms: 'epsilon' is not a non-negative number"},
      {R"({"norms":{"epsilon":"small"}})", "norms: 'epsilon' is not a non-negative number"},
      {R"({"norms":{"mlp_imput":"ln_2"}})", "'mlp_imput' (did you mean 'mlp_input'?)"},
      {R"({"norms":{"last":7}})", "norms: 'last' is not a string"},
      {R"({"norms":null})", "'activation' requires 'norms'"},
      {R"({"activation":null})", "but no 'activation'"},
      {R"({"attention":{"scale":0}})", "attention: 'scale' is not a positive number"},
      {R"({"attention":{"soft_caps":5}})", "'soft_caps' (did you mean 'soft_cap'?)"},
      {R"({"attention":{"window":4}})", "attention.window: is not a JSON object"},
      {R"({"attention":{"window":{}}})", "attention.window: has no 'size'"},
      {R"({"attention":{"window":{"size":0}}})", "'size' is not a whole number from 1"},
      {R"({"attention":{"window":{"size":4,"layers":"all"}}})", "is not a list of layers"},
      {R"({"attention":{"window":{"size":4,"layers":[2]}}})", "not a layer from 0 to 1"},
      {R"({"attention":{"window":{"size":4,"layers":[-1]}}})", "not a layer from 0 to 1"},
      {R"({"attention":{"clip":0}})", "attention: 'clip' is not a positive number"},
      {R"({"attention":{"alibi":"bloom"}})", "(choices: usual, larger_power, bfloat16)"},
      {R"({"attention":{"buckets":{}}})", "attention.buckets: has no 'table'"},
      {R"({"attention":{"buckets":{"table":"t","count":2}}})", "'count' is not a whole number"},
      {R"({"attention":{"buckets":{"table":"t","distant":16}}})", "not more than half of 'count'"},
      {R"({"attention":{"alibi":"usual","buckets":{"table":"t"}}})", "has more than one of"},
      {R"({"attention":{"disentangled":{"table":"t"}}})", "requires 'causal' to be false"},
      {R"({"attention":{"disentangled":{"table":"t","kinds":[]}}})", "'kinds' is not a list of"},
      {R"({"attention":{"disentangled":{"table":"t","kinds":["c2c"]}}})", "'kinds' is not a list"},
      {R"({"attention":{"disentangled":{"table":"t","key":"k"}}})", "'p2c' requires a 'query'"},
      {R"({"convolution":{"tensor":"t","norm":"n"}})", "convolution: has no 'kernel'"},
      {R"({"embedding":{"dropped_token":-1}})", "'dropped_token' is not a whole number"},
      {R"({"rope":{"theta":"1e4"}})", "rope: 'theta' is not a non-negative number"},
      {R"({"rope":{"fraction":1.5}})", "rope: 'fraction' is more than 1"},
      {R"({"rope":{"dimensions":9}})", "rope: 'dimensions' exceeds the head dimension"},
      {R"({"rope":{"pairs":"thirds"}})", "'pairs' is 'thirds' (choices: halves, neighbors)"},
      {R"({"rope":{"layers":[2]}})", "not a layer from 0 to 1"},
      {R"({"norms":{"head_axis":"heads"}})", "(choices: head, each_head, all_heads)"},
      {R"({"attention":{"temperature":{"growth":1}}})", "temperature: has no 'period'"},
      {R"({"multipliers":{"branches":0}})", "multipliers: 'branches' is not a positive number"},
      {R"({"rope":{"scaling":{"factor":2}}})", "rope.scaling: has no 'rope_type'"},
      {R"({"rope":{"scaling":{"rope_type":"linear","faktor":2}}})",
       "rope.scaling: unknown field 'faktor' (did you mean 'factor'?)"},
      {R"({"rope":{"scaling":{"rope_type":"linear","factor":"2"}}})", "'factor' is \"2\""},
      {R"({"embedding":7})", "embedding: is not a JSON object"},
      {R"({"embedding":{"tokens":null}})", "embedding: has no 'tokens'"},
      {R"({"embedding":{"position_offset":-1}})", "'position_offset' is not a whole number"},
      {R"({"embedding":{"width":8}})", "embedding: 'width' requires a 'projection'"},
      {R"({"head":{"dense":"dense.weight"}})", "head: 'dense' and 'norm' require each other"},
      {R"({"head":{"weight":"a"},"lm_head":"b"})", "specify one of them"},
      {R"({"biases":["up","up"]})", "'biases' lists a role twice"},
      {R"({"biases":["mlp"]})", "unknown role 'mlp'"},
      {R"({"parallel":1})", "'parallel' is not true or false"},
      {R"({"parallel":true,"norms":{"mlp_output":"n"}})",
       "'parallel' adds the outputs of attention and MLP together, which excludes 'mlp_output'"},
      {R"({"parallel":true,"norms":{"attention_sum":"n"}})", "excludes 'attention_sum' of 'norms'"},
      {R"({"parallel":true,"norms":{"mlp_sum":"n"}})", "excludes 'mlp_sum' of 'norms'"},
      {R"({"mlp":0})", "'mlp' is not true or false"},
      {R"({"mlp":false})", "'mlp' is false, but 'intermediate_size' describes an MLP"},
      {R"({"mlp":false,"intermediate_size":null})", "an MLP matrix requires 'intermediate_size'"},
      {R"({"mlp":true,"norms":null,"activation":null})", "'mlp' requires 'norms'"},
  };
  for (const auto& [patch, said] : patches) {
    SCOPED_TRACE(patch);
    auto layout = audio;
    layout.merge_patch(json::parse(patch));
    EXPECT_ERROR_SAYING(ErrorKind::format, parse_layout(layout.dump(), "my/layout.json"),
                        "my/layout.json: ", said);
  }
}

}  // namespace
}  // namespace attnscope
