// Layer descriptions derived from config.json and the description of an architecture. Expected
// values are those of transformers 5.
#include "attnscope/model/config/layer_config.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "tests/model/spec_of.h"
#include "tests/support/expect_error.h"

namespace attnscope::test {
namespace {

using nlohmann::json;

/// Positions of norms: 1 to 6 from the input of the attention to the sum after the MLP, f after the
/// last layer, h per head.
std::string places_of(const ModelSpec& spec) {
  const LayerSpec& layer = spec.layers.front();
  std::string places;
  char place = '1';
  for (const auto* norm : {&layer.attention_input, &layer.attention_output, &layer.attention_sum,
                           &layer.mlp_input, &layer.mlp_output, &layer.mlp_sum}) {
    if (*norm) places += place;
    ++place;
  }
  if (spec.stream.last_norm) places += 'f';
  if (layer.attention.query_norm && layer.attention.key_norm) places += 'h';
  return places;
}

/// Any norm of the model.
NormSpec norm_of(const ModelSpec& spec) {
  const LayerSpec& layer = spec.layers.front();
  return (layer.attention_input ? layer.attention_input
          : layer.mlp_input     ? layer.mlp_input
                                : layer.attention_sum)
      .value();
}

/// Projections that must have a bias: "qkvo".
std::string biased(const ModelSpec& spec) {
  std::string names;
  for (const Role role : spec.layers.front().biased) {
    names += role == Role::up ? "u" : role == Role::down ? "d" : role == Role::gate ? "g" : "";
    if (is_attention(role)) names += role_name(role);
  }
  return names;
}

TEST(LayerConfig, EveryArchitectureDescribesItsForwardPass) {
  for (const std::string& type : known_types()) {
    SCOPED_TRACE(type);
    const ModelSpec spec = spec_of(type);
    EXPECT_EQ(spec.not_run, spec.architecture.not_run);
    EXPECT_EQ(spec.layers.size(), 3u);
    EXPECT_FALSE(spec.stream.embedding.tokens.empty());
    const std::set<std::string> without_head = {"blip_text_model", "dpr", "layoutlmv3", "xlnet"};
    EXPECT_EQ(spec.head.rule.weight.empty(), without_head.contains(type));
  }
}

TEST(LayerConfig, NormPositionsEqualThoseOfTheFamily) {
  const std::map<std::string, std::string> expected = {
      {"albert", "36"},     {"bert", "36"},        {"daisy_gpt2", "4h"}, {"distilbert", "36"},
      {"gemma", "14f"},     {"gemma2", "1245f"},   {"gpt2", "14f"},      {"gemma3_text", "1245fh"},
      {"gpt_neo", "14f"},   {"gpt_neox", "14f"},   {"llama", "14f"},     {"mistral", "14f"},
      {"opt", "14f"},       {"phi", "1f"},         {"phi3", "14f"},      {"qwen2", "14f"},
      {"qwen3", "14fh"},    {"roberta", "36"},     {"dots1", "14fh"},    {"glm4_moe", "14f"},
      {"mixtral", "14f"},   {"phimoe", "14f"},     {"qwen2_moe", "14f"}, {"qwen3_moe", "14fh"},
      {"bloom", "14f"},     {"camembert", "36"},   {"electra", "36"},    {"esm", "14f"},
      {"falcon", "1f"},     {"mpnet", "36"},       {"mpt", "14f"},       {"nomic_bert", "36"},
      {"modernbert", "4f"}, {"xlm-roberta", "36"}, {"deberta-v2", "36"}, {"gpt_oss", "14f"},
  };
  std::map<std::string, std::string> got;
  for (const auto& [type, places] : expected) got[type] = places_of(spec_of(type));
  EXPECT_EQ(got, expected);

  EXPECT_EQ(places_of(spec_of("opt", {{"do_layer_norm_before", false}})), "36");
  EXPECT_EQ(places_of(spec_of("opt", {{"_remove_final_layer_norm", true}})), "14");
  EXPECT_EQ(places_of(spec_of("phi", {{"qk_layernorm", true}})), "1fh");

  const ModelSpec gemma2 = spec_of("gemma2");
  EXPECT_EQ(gemma2.layers[0].attention_output->tensor, "layers.{layer}.post_attention_layernorm");
  EXPECT_EQ(gemma2.layers[0].mlp_input->tensor, "layers.{layer}.pre_feedforward_layernorm");
  EXPECT_EQ(spec_of("llama").layers[0].mlp_input->tensor,
            "layers.{layer}.post_attention_layernorm");
}

TEST(LayerConfig, NormKindsEqualThoseOfTheFamily) {
  for (const std::string type :
       {"albert", "bert",       "daisy_gpt2", "distilbert", "gemma",   "gemma2", "gemma3_text",
        "gpt2",   "gpt_neo",    "gpt_neox",   "llama",      "mistral", "opt",    "phi",
        "phi3",   "qwen2",      "qwen3",      "roberta",    "mixtral", "dots1",  "glm4_moe",
        "mpt",    "modernbert", "bloom",      "esm"}) {
    SCOPED_TRACE(type);
    const NormSpec norm = norm_of(spec_of(type));
    const bool rms = type == "llama" || type == "mistral" || type == "phi3" ||
                     type == "daisy_gpt2" || type == "mixtral" || type == "dots1" ||
                     type == "glm4_moe" || type.starts_with("qwen") || type.starts_with("gemma");
    EXPECT_EQ(norm.kind, rms ? NormKind::rms : NormKind::layer);
    EXPECT_EQ(norm.gain_offset, type.starts_with("gemma") ? 1 : 0);
    EXPECT_EQ(norm.has_gain(), type != "daisy_gpt2");
    EXPECT_EQ(norm.has_bias(), !rms && type != "mpt" && type != "modernbert");
  }
  const ModelSpec gemma3 = spec_of("gemma3_text");
  EXPECT_EQ(gemma3.layers[1].attention.query_norm->gain_offset, 1);
  EXPECT_EQ(gemma3.stream.last_norm->gain_offset, 1);

  const ModelSpec bare = spec_of("opt", {{"layer_norm_elementwise_affine", false}});
  EXPECT_FALSE(norm_of(bare).has_gain());
  EXPECT_FALSE(norm_of(bare).has_bias());
  EXPECT_FALSE(bare.stream.last_norm->has_gain());
}

TEST(LayerConfig, ReadsEpsilonByTheKeyOfTheFamily) {
  const struct {
    const char *type, *key;
    double standard;
  } cases[] = {
      {"bert", "layer_norm_eps", 1e-12},       {"roberta", "layer_norm_eps", 1e-12},
      {"albert", "layer_norm_eps", 1e-12},     {"distilbert", nullptr, 1e-12},
      {"gpt2", "layer_norm_epsilon", 1e-5},    {"gpt_neo", "layer_norm_epsilon", 1e-5},
      {"gpt_neox", "layer_norm_eps", 1e-5},    {"opt", nullptr, 1e-5},
      {"phi", "layer_norm_eps", 1e-5},         {"llama", "rms_norm_eps", 1e-6},
      {"mistral", "rms_norm_eps", 1e-6},       {"qwen2", "rms_norm_eps", 1e-6},
      {"qwen3", "rms_norm_eps", 1e-6},         {"gemma", "rms_norm_eps", 1e-6},
      {"gemma2", "rms_norm_eps", 1e-6},        {"gemma3_text", "rms_norm_eps", 1e-6},
      {"mixtral", "rms_norm_eps", 1e-5},       {"phimoe", "rms_norm_eps", 1e-5},
      {"qwen2_moe", "rms_norm_eps", 1e-6},     {"qwen3_moe", "rms_norm_eps", 1e-6},
      {"dots1", "rms_norm_eps", 1e-6},         {"glm4_moe", "rms_norm_eps", 1e-5},
      {"phi3", "rms_norm_eps", 1e-5},          {"daisy_gpt2", nullptr, 1.1920929e-07},
      {"bloom", "layer_norm_epsilon", 1e-5},   {"falcon", "layer_norm_epsilon", 1e-5},
      {"mpt", "layer_norm_epsilon", 1e-5},     {"mpnet", "layer_norm_eps", 1e-12},
      {"esm", "layer_norm_eps", 1e-12},        {"electra", "layer_norm_eps", 1e-12},
      {"camembert", "layer_norm_eps", 1e-12},  {"xlm-roberta", "layer_norm_eps", 1e-12},
      {"nomic_bert", "layer_norm_eps", 1e-12}, {"modernbert", "norm_eps", 1e-5},
      {"deberta-v2", "layer_norm_eps", 1e-7},  {"mixtral", "rms_norm_eps", 1e-5},
      {"phimoe", "rms_norm_eps", 1e-5},        {"qwen2_moe", "rms_norm_eps", 1e-6},
      {"qwen3_moe", "rms_norm_eps", 1e-6},     {"dots1", "rms_norm_eps", 1e-6},
      {"glm4_moe", "rms_norm_eps", 1e-5},      {"gpt_oss", "rms_norm_eps", 1e-5},
  };
  for (const auto& row : cases) {
    const char *type = row.type, *key = row.key;  // lambdas cannot capture structured bindings
    const double standard = row.standard;
    SCOPED_TRACE(type);
    EXPECT_EQ(norm_of(spec_of(type)).epsilon, standard);
    json all;  // keys of other families, which must be ignored
    for (const char* other : {"layer_norm_eps", "layer_norm_epsilon", "rms_norm_eps", "norm_eps"}) {
      all[other] = key != nullptr && std::string(key) == other ? 0.25 : 0.5;
    }
    EXPECT_EQ(norm_of(spec_of(type, all)).epsilon, key == nullptr ? standard : 0.25);
    if (key == nullptr) continue;
    EXPECT_EQ(norm_of(spec_of(type, {{key, 0}})).epsilon, 0);
    EXPECT_ERROR_SAYING(ErrorKind::format, spec_of(type, {{key, "small"}}), "config.json", key);
    EXPECT_ERROR_SAYING(ErrorKind::format, spec_of(type, {{key, -1e-5}}), "config.json", key);
  }
}

TEST(LayerConfig, ListsProjectionsWithBiases) {
  const std::map<std::string, std::string> expected = {
      {"albert", "qkvoud"},
      {"bert", "qkvoud"},
      {"daisy_gpt2", ""},
      {"distilbert", "qkvoud"},
      {"gemma", ""},
      {"gemma2", ""},
      {"gemma3_text", ""},
      {"gpt2", "qkvoud"},
      {"gpt_neo", "oud"},
      {"gpt_neox", "udqkvo"},
      {"llama", ""},
      {"mistral", ""},
      {"opt", "qkvoud"},
      {"phi", "qkvoud"},
      {"phi3", ""},
      {"qwen2", "qkv"},
      {"qwen3", ""},
      {"roberta", "qkvoud"},
      {"dots1", ""},
      {"glm4_moe", ""},
      {"mixtral", ""},
      {"phimoe", ""},
      {"qwen2_moe", "qkv"},
      {"qwen3_moe", ""},
      {"bloom", "qkvoud"},
      {"camembert", "qkvoud"},
      {"electra", "qkvoud"},
      {"esm", "qkvoud"},
      {"falcon", ""},
      {"mpnet", "qkvoud"},
      {"mpt", ""},
      {"nomic_bert", ""},
      {"modernbert", ""},
      {"xlm-roberta", "qkvoud"},
      {"deberta-v2", "qkvoud"},

      {"dots1", ""},
      {"glm4_moe", ""},
      {"mixtral", ""},
      {"phimoe", ""},
      {"qwen2_moe", "qkv"},
      {"qwen3_moe", ""},
      {"gpt_oss", "qkvogud"},
  };
  std::map<std::string, std::string> got;
  for (const auto& [type, roles] : expected) got[type] = biased(spec_of(type));
  EXPECT_EQ(got, expected);

  const json all = {{"attention_bias", true}, {"mlp_bias", true}};
  EXPECT_EQ(biased(spec_of("llama", all)), "qkvogud");
  EXPECT_EQ(biased(spec_of("mistral", all)), "");
  EXPECT_EQ(biased(spec_of("qwen2", all)), "qkv");
  EXPECT_EQ(biased(spec_of("qwen3", all)), "qkvo");
  EXPECT_EQ(biased(spec_of("gemma2", all)), "qkvo");
  EXPECT_EQ(biased(spec_of("mixtral", all)), "");
  EXPECT_EQ(biased(spec_of("phimoe", all)), "qkvo");
  EXPECT_EQ(biased(spec_of("glm4_moe", all)), "qkv");
  EXPECT_EQ(biased(spec_of("dots1", all)), "qkvo");
  EXPECT_EQ(biased(spec_of("qwen2_moe", {{"qkv_bias", false}})), "");
  EXPECT_EQ(biased(spec_of("gpt_neox", {{"attention_bias", false}})), "ud");
  EXPECT_EQ(biased(spec_of("opt", {{"enable_bias", false}})), "");
  EXPECT_EQ(biased(spec_of("falcon", {{"bias", true}})), "qkvoud");
  EXPECT_EQ(biased(spec_of("modernbert", all)), "qkvogud");
}

TEST(LayerConfig, ActivationsDefaultToThoseOfTheFamily) {
  using enum Activation;
  const std::map<std::string, Activation> expected = {
      {"albert", gelu_tanh},
      {"bert", gelu},
      {"daisy_gpt2", relu_squared},
      {"distilbert", gelu},
      {"gemma", gelu_tanh},
      {"gemma2", gelu_tanh},
      {"gemma3_text", gelu_tanh},
      {"gpt2", gelu_tanh},
      {"gpt_neo", gelu_tanh},
      {"gpt_neox", gelu},
      {"llama", silu},
      {"mistral", silu},
      {"opt", relu},
      {"phi", gelu_tanh},
      {"phi3", silu},
      {"qwen2", silu},
      {"qwen3", silu},
      {"dots1", silu},
      {"glm4_moe", silu},
      {"mixtral", silu},
      {"phimoe", silu},
      {"qwen2_moe", silu},
      {"qwen3_moe", silu},
      {"roberta", gelu},
      {"bloom", gelu_tanh},
      {"camembert", gelu},
      {"electra", gelu},
      {"esm", gelu},
      {"falcon", gelu},
      {"mpnet", gelu},
      {"mpt", gelu},
      {"nomic_bert", silu},
      {"modernbert", gelu},
      {"xlm-roberta", gelu},
      {"deberta-v2", gelu},
  };
  std::map<std::string, Activation> got;
  for (const auto& [type, activation] : expected) got[type] = spec_of(type).layers[0].activation;
  EXPECT_EQ(got, expected);

  const auto named = [](const char* type, const char* key, const char* name) {
    return spec_of(type, {{key, name}}).layers[0].activation;
  };
  EXPECT_EQ(named("gemma", "hidden_act", "gelu"), gelu_tanh) << "what files of Gemma mean by it";
  EXPECT_EQ(named("gemma", "hidden_activation", "relu"), gelu_tanh) << "not read";
  EXPECT_EQ(named("gemma2", "hidden_activation", "gelu"), gelu);
  EXPECT_EQ(named("gemma2", "hidden_act", "relu"), gelu_tanh) << "not read";
  EXPECT_EQ(named("distilbert", "activation", "relu"), relu);
  EXPECT_EQ(named("gpt2", "activation_function", "gelu"), gelu);
  EXPECT_EQ(spec_of("bert", {{"hidden_act", "relu"}}).head.activation, relu);
  EXPECT_EQ(spec_of("roberta", {{"hidden_act", "relu"}}).head.activation, gelu);
}

TEST(LayerConfig, RejectsInvalidValues) {
  const struct {
    const char* type;
    const char* changes;
    const char* said;
  } cases[] = {
      {"mistral", R"({"sliding_window":-1})", "'sliding_window' is -1, expected a whole number"},
      {"mistral", R"({"sliding_window":4.5})", "'sliding_window' is 4.5"},
      {"qwen2", R"({"use_sliding_window":"yes"})",
       "'use_sliding_window' is \"yes\", expected true"},
      {"qwen2", R"({"use_sliding_window":true,"layer_types":["full_attention"]})",
       "'layer_types' lists 1 of 3 layers"},
      {"gemma2", R"({"layer_types":"sliding_attention"})", "'layer_types' is"},
      {"gemma2", R"({"layer_types":[1,2,3]})", "'layer_types' is [1,2,3], expected a list"},
      {"gemma2", R"({"attn_logit_softcapping":"50"})", "'attn_logit_softcapping' is \"50\""},
      {"gemma2", R"({"attn_logit_softcapping":-1})", "'attn_logit_softcapping' is -1"},
      {"gemma2", R"({"query_pre_attn_scalar":0})", "'query_pre_attn_scalar' is 0"},
      {"gpt_neo", R"({"attention_layers":["local"]})", "'attention_layers' lists 1 of 3 layers"},
      {"gpt_neo", R"({"attention_layers":["near","far","near"]})",
       "'attention_layers' contains values"},
      {"gpt_neo", R"({"attention_layers":7})", "'attention_layers' is 7"},
      {"gpt_neo", R"({"attention_types":[[["local"],-1]]})", "'attention_types' is not"},
      {"gpt_neo", R"({"attention_types":[["local",3]]})", "'attention_types' is not"},
      {"gpt_neo", R"({"attention_types":"local"})", "'attention_types' is not"},
      {"gpt_neo", R"({"attention_types":[[[],4000000000]]})", "'attention_types' lists 0 of 3"},
      {"gpt_neo", R"({"window_size":0})", "'window_size' is 0"},
      {"llama", R"({"hidden_act":["silu"]})", "'hidden_act' is [\"silu\"], expected a string"},
      {"llama", R"({"attention_bias":1})", "'attention_bias' is 1, expected true or false"},
      {"roberta", R"({"pad_token_id":-1})", "'pad_token_id' is -1"},
      {"llama", R"({"rope_scaling":{"rope_type":7}})", "'rope_type' is 7"},
      {"llama", R"({"rope_scaling":"linear"})", "'rope_scaling' is \"linear\", expected an object"},
      {"llama", R"({"rope_parameters":[1]})", "'rope_parameters' is [1], expected an object"},
      {"phi3", R"({"rope_scaling":{"rope_type":"longrope","short_factor":[1,"2"]}})",
       "'short_factor' is"},
  };
  for (const auto& wrong : cases) {
    SCOPED_TRACE(std::string(wrong.type) + " " + wrong.changes);
    EXPECT_ERROR_SAYING(ErrorKind::format, spec_of(wrong.type, json::parse(wrong.changes)),
                        "config.json: ", wrong.said);
  }
}

TEST(LayerConfig, NullIsNotANumberAndNotTrue) {
  EXPECT_FALSE(spec_of("gpt_neox", {{"use_parallel_residual", nullptr}}).layers[0].parallel);
  EXPECT_EQ(biased(spec_of("opt", {{"enable_bias", nullptr}})), "");
  EXPECT_EQ(norm_of(spec_of("llama", {{"rms_norm_eps", nullptr}})).epsilon, 1e-6);
  EXPECT_EQ(spec_of("llama", {{"hidden_act", nullptr}}).layers[0].activation, Activation::silu);
}

// Source: transformers, models/longformer/modeling_longformer.py, `global_attention_mask`.
TEST(LayerConfig, LongformerClassesWithGlobalAttentionAreNotRun) {
  for (const char* ending :
       {"ForSequenceClassification", "ForQuestionAnswering", "ForMultipleChoice"}) {
    const json classes = {std::string("Longformer") + ending};
    const ModelSpec spec = spec_of("longformer", {{"architectures", classes}});
    EXPECT_TRUE(spec.not_run.find("global attention") != std::string::npos) << ending;
    EXPECT_FALSE(spec.labels) << ending;
  }
  const json tokens = {"LongformerForTokenClassification"}, body = {"LongformerModel"};
  EXPECT_EQ(spec_of("longformer", {{"architectures", body}}).not_run, "");
  const ModelSpec spec = spec_of("longformer", {{"architectures", tokens}});
  EXPECT_EQ(spec.not_run, "");
  ASSERT_TRUE(spec.labels);
  EXPECT_EQ(spec.labels->task, LabelTask::token);
}

TEST(LayerConfig, ReadsTheHeadsOfClassifiers) {
  const auto labels_of = [](const char* type, const char* name, json changes = {}) {
    changes["architectures"] = {name};
    return spec_of(type, changes).labels;
  };
  const auto llama = labels_of("llama", "LlamaForSequenceClassification", {{"pad_token_id", -1}});
  ASSERT_TRUE(llama);
  EXPECT_FALSE(llama->padding_token);
  EXPECT_EQ(
      labels_of("llama", "LlamaForSequenceClassification", {{"pad_token_id", 0}})->padding_token,
      0);
  const auto modern = labels_of("modernbert", "ModernBertForTokenClassification",
                                {{"classifier_activation", "relu"}});
  ASSERT_TRUE(modern);
  for (const LabelHeadChoice& head : modern->heads) {
    EXPECT_EQ(head.activation, Activation::relu);
    EXPECT_TRUE(head.norm);
  }
  EXPECT_EQ(labels_of("llama", "LlamaForTokenClassification")->heads.size(), 2u);
  EXPECT_FALSE(labels_of("big_bird", "BigBirdForQuestionAnswering"));
  EXPECT_FALSE(labels_of("gte", "GteForQuestionAnswering"));
}

TEST(LayerConfig, UnknownValuesOnlyPreventTheForwardPass) {
  const ModelSpec act = spec_of("llama", {{"hidden_act", "snake\n"}});
  EXPECT_EQ(act.not_run, "activation 'snake\\x0a' is not known");
  EXPECT_EQ(act.layers.size(), 3u);
  const json types = {"full_attention", "chunked_attention", "full_attention"};
  EXPECT_EQ(spec_of("gemma2", {{"layer_types", types}}).not_run,
            "layer type 'chunked_attention' is not known");
  const ModelSpec rope = spec_of("llama", {{"rope_scaling", {{"rope_type", "spiral"}}}});
  EXPECT_EQ(rope.layers[0].attention.rope->scaling, RopeScaling::unknown);
}

}  // namespace
}  // namespace attnscope::test
