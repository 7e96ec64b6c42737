#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "attnscope/model/config/parse_config.h"
#include "attnscope/model/known_architectures.h"
#include "attnscope/model/model_spec.h"
#include "tests/support/expect_error.h"

namespace attnscope {
namespace {

constexpr std::string_view kWhere = "model/config.json";

/// Llama's config.json as written by transformers before version 5.
nlohmann::json old_llama() {
  return nlohmann::json::parse(R"({
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 32,
    "intermediate_size": 48, "num_attention_heads": 4, "num_hidden_layers": 2,
    "max_position_embeddings": 64, "vocab_size": 40, "torch_dtype": "float16",
    "rope_theta": 10000.0, "rope_scaling": null, "pretraining_tp": 1, "hidden_act": "silu"})");
}

/// The same config as written by version 5.
nlohmann::json new_llama() {
  auto config = old_llama();
  for (const char* key : {"torch_dtype", "rope_theta", "rope_scaling"}) config.erase(key);
  config["dtype"] = "bfloat16";
  config["rope_parameters"] = {{"rope_theta", 10000.0}, {"rope_type", "default"}};
  config["num_key_value_heads"] = 2;
  config["head_dim"] = 16;
  config["tie_word_embeddings"] = true;
  return config;
}

ModelSpec parse(const nlohmann::json& config) { return parse_config(config.dump(), kWhere); }

TEST(Config, ReadsTheOldStyle) {
  const ModelSpec spec = parse(old_llama());
  const Dimensions& dimensions = spec.dimensions;
  EXPECT_EQ(spec.architecture.name, "llama");
  EXPECT_EQ(spec.source, kWhere);
  EXPECT_EQ(dimensions.layers, 2);
  EXPECT_EQ(dimensions.width, 32);
  EXPECT_EQ(dimensions.mlp_width, 48);
  EXPECT_EQ(dimensions.heads.heads, 4);
  EXPECT_EQ(dimensions.heads.kv_heads, 4);
  EXPECT_EQ(dimensions.heads.head_dim, 8);
  EXPECT_EQ(dimensions.heads.value_dim, 8);
  EXPECT_EQ(dimensions.vocabulary, 40);
  EXPECT_EQ(dimensions.context, 64);
  EXPECT_FALSE(spec.tied);
  EXPECT_EQ(spec.quantization.method, "");
}

TEST(Config, ReadsTheNewStyle) {
  const ModelSpec spec = parse(new_llama());
  EXPECT_EQ(spec.dimensions.heads.kv_heads, 2);
  EXPECT_EQ(spec.dimensions.heads.head_dim, 16);
  EXPECT_TRUE(spec.tied);
}

TEST(Config, UsesTransformersDefaultsForMissingNumbers) {
  auto config = old_llama();
  config.erase("vocab_size");
  config.erase("max_position_embeddings");
  config.erase("intermediate_size");
  config["num_key_value_heads"] = nullptr;
  config["head_dim"] = nullptr;
  const Dimensions dimensions = parse(config).dimensions;
  EXPECT_EQ(dimensions.vocabulary, std::nullopt);
  EXPECT_EQ(dimensions.context, std::nullopt);
  EXPECT_EQ(dimensions.mlp_width, 4 * 32);
  EXPECT_EQ(dimensions.heads.kv_heads, 4);
  EXPECT_EQ(dimensions.heads.head_dim, 8);

  // Gemma's head dimension is a separate number, not hidden size / heads.
  config["model_type"] = "gemma";
  config.erase("head_dim");
  EXPECT_EQ(parse(config).dimensions.heads.head_dim, 256);
}

TEST(Config, FindsTheArchitectureByItsClass) {
  const struct {
    std::string_view class_name, architecture;
  } cases[] = {
      {"GPT2LMHeadModel", "gpt2"},        {"GPT2Model", "gpt2"},
      {"GPT2DoubleHeadsModel", "gpt2"},   {"GPTNeoForCausalLM", "gpt_neo"},
      {"GPTNeoXForCausalLM", "gpt_neox"}, {"BertForMaskedLM", "bert"},
      {"BertLMHeadModel", "bert"},        {"RobertaForMaskedLM", "roberta"},
      {"DistilBertModel", "distilbert"},  {"AlbertForPreTraining", "albert"},
      {"OPTForCausalLM", "opt"},          {"LlamaForCausalLM", "llama"},
      {"LLaMAForCausalLM", "llama"},      {"MistralForCausalLM", "mistral"},
      {"Qwen2ForCausalLM", "qwen2"},      {"Qwen3ForCausalLM", "qwen3"},
      {"GemmaForCausalLM", "gemma"},      {"Gemma2ForCausalLM", "gemma2"},
      {"Gemma3ForCausalLM", "gemma3"},    {"Gemma3ForConditionalGeneration", "gemma3"},
      {"PhiForCausalLM", "phi"},          {"Phi3ForCausalLM", "phi3"},
  };
  for (const auto& [class_name, name] : cases) {
    const auto found = find_architecture_by_class(class_name);
    ASSERT_TRUE(found) << class_name;
    EXPECT_EQ(found->name, name) << class_name;
  }
  for (const char* unknown : {"", "Model", "GPTBForCausalLM", "T6Model", "BertX", "bertModel"}) {
    EXPECT_FALSE(find_architecture_by_class(unknown)) << unknown;
  }

  auto config = old_llama();
  config.erase("model_type");
  EXPECT_EQ(parse(config).architecture.name, "llama");
  config["model_type"] = "my_llama";
  config["architectures"] = {7, "MyLlama", "LlamaForCausalLM"};
  EXPECT_EQ(parse(config).architecture.name, "llama");
}

TEST(Config, FindsEveryArchitectureByItsType) {
  for (const Architecture& architecture : known_architectures()) {
    for (const std::string& type : architecture.model_types) {
      const auto found = find_architecture_by_type(type);
      ASSERT_TRUE(found) << type;
      EXPECT_EQ(found->name, architecture.name) << type;
    }
    for (const std::string& family : architecture.class_families) {
      const auto found = find_architecture_by_class(family + "Model");
      ASSERT_TRUE(found) << family;
      EXPECT_EQ(found->name, architecture.name) << family;
    }
  }
  EXPECT_FALSE(find_architecture_by_type(""));
}

// The text_config of the first Gemma 3 files omits transformers' default values.
TEST(Config, ReadsNestedTextConfigs) {
  const nlohmann::json config = {
      {"architectures", {"Gemma3ForConditionalGeneration"}},
      {"model_type", "gemma3"},
      {"hidden_size", 7},  // belongs to the vision model
      {"text_config",
       {{"model_type", "gemma3_text"},
        {"hidden_size", 2560},
        {"intermediate_size", 10240},
        {"num_hidden_layers", 34}}},
      {"vision_config", {{"hidden_size", 1152}, {"num_attention_heads", 16}}}};
  const ModelSpec spec = parse(config);
  EXPECT_EQ(spec.architecture.name, "gemma3");
  EXPECT_EQ(spec.dimensions.width, 2560);
  EXPECT_EQ(spec.dimensions.layers, 34);
  EXPECT_EQ(spec.dimensions.heads.heads, 8);
  EXPECT_EQ(spec.dimensions.heads.kv_heads, 4);
  EXPECT_EQ(spec.dimensions.heads.head_dim, 256);
  EXPECT_EQ(spec.dimensions.vocabulary, 262208);
  EXPECT_EQ(spec.dimensions.context, 131072);
  EXPECT_TRUE(spec.tied);
}

// Source: the configuration classes of transformers 4, whose base class ties the LM head.
TEST(Config, TiesTheLmHeadLikeTransformers) {
  nlohmann::json config = old_llama();
  for (const auto& [key, value] : {std::pair{"n_layer", 2},
                                   {"n_head", 4},
                                   {"n_embd", 32},
                                   {"num_layers", 2},
                                   {"num_heads", 4},
                                   {"n_layers", 2},
                                   {"n_heads", 4},
                                   {"dim", 32},
                                   {"hidden_dim", 48},
                                   {"model_dim", 32},
                                   {"n_routed_experts", 4},
                                   {"mamba_n_heads", 4},
                                   {"num_experts_per_tok", 2},
                                   {"num_kv_shared_layers", 0},
                                   {"attention_heads", 4},
                                   {"d_model", 32},
                                   {"dff", 48},
                                   {"ffn_dim", 48},
                                   {"ffn_hidden_size", 48},
                                   {"num_key_value_heads", 2}}) {
    config[key] = value;
  }
  const std::map<std::string, bool> expected = {
      {"albert", true},     {"bert", true},        {"daisy_gpt2", false}, {"distilbert", true},
      {"gemma", true},      {"gemma2", true},      {"gemma3", true},      {"gpt2", true},
      {"gpt_neo", true},    {"gpt_neox", false},   {"llama", false},      {"mistral", false},
      {"opt", true},        {"phi", false},        {"phi3", false},       {"qwen2", false},
      {"qwen3", false},     {"roberta", true},     {"dots1", false},      {"glm4_moe", false},
      {"mixtral", false},   {"phimoe", false},     {"qwen2_moe", false},  {"qwen3_moe", false},
      {"bloom", true},      {"camembert", true},   {"electra", true},     {"esm", true},
      {"falcon", true},     {"mpnet", true},       {"mpt", true},         {"nomic_bert", true},
      {"modernbert", true}, {"xlm-roberta", true}, {"deberta-v2", true},  {"gpt_oss", false},
      {"biogpt", true},     {"ctrl", true},        {"cwm", false},        {"dbrx", false},
      {"deberta", true},    {"ernie", true},       {"eurobert", false},   {"gte", true},
      {"jais2", false},     {"longformer", true},  {"minicpm", true},     {"ministral", false},
      {"openai-gpt", true}, {"rembert", false},    {"vaultgemma", true},  {"xglm", true},
  };
  std::map<std::string, bool> got;
  config["rotary_dim"] = 4;
  config["num_experts"] = 4;
  for (const Architecture& architecture : known_architectures()) {
    // Stages list their sizes under the same keys.
    if (!architecture.stacks.empty() || architecture.stages || architecture.of_two_models) continue;
    config["model_type"] = architecture.model_types.front();
    const std::string name(architecture.name);
    if (expected.contains(name)) got[name] = parse(config).tied;
    for (const bool tied : {false, true}) {
      auto said = config;
      said["tie_word_embeddings"] = tied;
      EXPECT_EQ(parse(said).tied, tied) << name;
    }
  }
  EXPECT_EQ(got, expected);
}

TEST(Config, TheNestedTieSettingApplies) {
  auto config = old_llama();
  config["tie_word_embeddings"] = false;
  config["text_config"] = old_llama();
  config["text_config"]["tie_word_embeddings"] = true;
  EXPECT_TRUE(parse(config).tied);
}

TEST(Config, NamesTheQuantization) {
  auto config = old_llama();
  config["quantization_config"] = {{"quant_method", "gptq"}, {"bits", 4}};
  EXPECT_EQ(parse(config).quantization.method, "gptq");
  config["quantization_config"] = nlohmann::json::object();
  EXPECT_EQ(parse(config).quantization.method, "unnamed method");
  config["quantization_config"] = nullptr;
  EXPECT_EQ(parse(config).quantization.method, "");
}

TEST(Config, RejectsMalformedText) {
  const struct {
    std::string_view fault, text, said;
  } configs[] = {
      {"empty", "", "not JSON"},
      {"not JSON", "model_type: llama", "not JSON"},
      {"a list", "[]", "is not a JSON object"},
      {"null", "null", "is not a JSON object"},
      {"no architecture", "{}", "has neither model_type nor architectures"},
      {"architecture of the wrong type", R"({"model_type":7,"architectures":"LlamaModel"})",
       "has neither model_type nor architectures"},
      {"two model_types", R"({"model_type":"llama","model_type":"gpt2"})",
       "duplicate key 'model_type'"},
  };
  for (const auto& wrong : configs) {
    SCOPED_TRACE(wrong.fault);
    EXPECT_ERROR_SAYING(ErrorKind::format, parse_config(wrong.text, kWhere), kWhere, wrong.said);
  }
}

/// The config with NaN or Infinity in the notation of Python's json module.
std::string with_named_number(const char* key, const char* value) {
  auto config = old_llama();
  config[key] = "HERE";
  std::string text = config.dump();
  return text.replace(text.find("\"HERE\""), 6, value);
}

TEST(Config, AcceptsNanAndInfinityInUnusedKeys) {
  const std::string text = with_named_number("time_step_limit", "[0.0, Infinity]");
  EXPECT_EQ(parse_config(text, kWhere).dimensions.width, 32);
  EXPECT_EQ(parse_config(text, kWhere).text, text);
}

TEST(Config, RejectsNanAndInfinityAsSettings) {
  const struct {
    const char *key, *value, *said;
  } settings[] = {
      {"hidden_size", "Infinity", "'hidden_size' is Infinity, expected a whole number"},
      {"num_hidden_layers", "NaN", "'num_hidden_layers' is NaN, expected a whole number"},
      {"rms_norm_eps", "NaN", "'rms_norm_eps' is NaN, expected a non-negative number"},
      {"rms_norm_eps", "-Infinity", "'rms_norm_eps' is -Infinity, expected a non-negative number"},
      {"rope_theta", "Infinity", "'rope_theta' is Infinity, expected a positive number"},
  };
  for (const auto& setting : settings) {
    SCOPED_TRACE(setting.said);
    EXPECT_ERROR_SAYING(ErrorKind::format,
                        parse_config(with_named_number(setting.key, setting.value), kWhere), kWhere,
                        setting.said);
  }
}

TEST(Config, RejectsInvalidNumbers) {
  const struct {
    std::string_view fault;
    const char* key;
    nlohmann::json value;  // null: the key is omitted
    std::string_view said;
  } changes[] = {
      {"no width", "hidden_size", nullptr, "has no 'hidden_size'"},
      {"no layers", "num_hidden_layers", nullptr, "has no 'num_hidden_layers'"},
      {"no heads", "num_attention_heads", nullptr, "has no 'num_attention_heads'"},
      {"zero heads", "num_attention_heads", 0, "'num_attention_heads' is 0, expected"},
      {"zero layers", "num_hidden_layers", 0, "'num_hidden_layers' is 0, expected"},
      {"negative width", "hidden_size", -32, "'hidden_size' is -32, expected"},
      {"fractional width", "hidden_size", 32.0, "'hidden_size' is 32.0, expected"},
      {"width in quotes", "hidden_size", "32\n", R"('hidden_size' is "32\n", expected)"},
      {"width is a list", "hidden_size", {32}, "'hidden_size' is [32], expected"},
      {"width is true", "hidden_size", true, "'hidden_size' is true, expected"},
      {"width over the limit", "hidden_size", 1'000'000'001, "expected a whole number from 1 to"},
      {"width past int64", "hidden_size", 9223372036854775808u, "expected a whole number"},
      {"width that is 32 modulo 2^32", "hidden_size", 4294967328u, "expected a whole number"},
      {"vocabulary of the wrong type", "vocab_size", "many", "'vocab_size' is \"many\""},
      {"10,001 layers", "num_hidden_layers", 10'001, "10001 layers exceed the limit of 10000"},
      {"heads that do not divide the width", "num_attention_heads", 5,
       "hidden size 32 is not a multiple of 5 heads"},
      {"key/value heads that do not divide the heads", "num_key_value_heads", 3,
       "4 heads are not a multiple of 3 key/value heads"},
      {"more key/value heads than heads", "num_key_value_heads", 8,
       "4 heads are not a multiple of 8 key/value heads"},
      {"heads as wide as nothing is", "head_dim", 1'000'000'000,
       "4 heads of 1000000000 dimensions are above the limit"},
  };
  for (const auto& [fault, key, value, said] : changes) {
    SCOPED_TRACE(fault);
    auto config = old_llama();
    config.erase(key);
    if (!value.is_null()) config[key] = value;
    EXPECT_ERROR_SAYING(ErrorKind::format, parse(config), kWhere, said);
  }
}

TEST(Config, UnknownArchitecturesAreUnsupportedAndKnownOnesListed) {
  auto config = old_llama();
  config["model_type"] = "mamba\x1b[2J";
  config["architectures"] = {"MambaForCausalLM"};
  EXPECT_ERROR_SAYING(ErrorKind::unsupported, parse(config), kWhere, "'mamba\\x1b[2J' is not known",
                      "known: albert, ", ", distilbert, ", "roberta", "layout FILE.json");
  config.erase("model_type");
  EXPECT_ERROR_SAYING(ErrorKind::unsupported, parse(config), "'MambaForCausalLM' is not known");
}

}  // namespace
}  // namespace attnscope
