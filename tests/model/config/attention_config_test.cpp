// How config.json and the family set the scaling, softcap and mask of attention scores. Expected
// values are those of transformers 5.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "attnscope/base/error.h"
#include "tests/model/spec_of.h"

namespace attnscope::test {
namespace {

using nlohmann::json;

/// The attention reach of each layer's queries; 0: unlimited.
std::vector<std::int64_t> reaches_of(const ModelSpec& spec) {
  std::vector<std::int64_t> reaches;
  for (const LayerSpec& layer : spec.layers) {
    reaches.push_back(layer.attention.mask.reach.value_or(0));
  }
  return reaches;
}

/// Window sizes of decoders: a token attends to itself and the W - 1 tokens before it.
std::vector<std::int64_t> windows_of(const ModelSpec& spec) {
  std::vector<std::int64_t> windows;
  for (const LayerSpec& layer : spec.layers) {
    const auto reach = layer.attention.mask.reach;
    windows.push_back(reach ? *reach + 1 : 0);
  }
  return windows;
}

std::vector<double> scales_of(const ModelSpec& spec) {
  std::vector<double> scales;
  for (const LayerSpec& layer : spec.layers) scales.push_back(layer.attention.scale);
  return scales;
}

TEST(AttentionConfig, ScalesAndCapsScores) {
  const double usual = 1 / std::sqrt(8.0);
  for (const std::string& type : known_types()) {
    SCOPED_TRACE(type);
    const auto head_dim = static_cast<double>(spec_of(type).dimensions.heads.head_dim);
    double expected = 1 / std::sqrt(head_dim);
    if (type == "gpt_neo" || type.starts_with("granite")) expected = 1;
    if (type == "daisy_gpt2") expected = 0.12;
    if (type == "zamba2") expected = 1 / std::sqrt(head_dim / 2);  // half reads the embedding
    if (type == "mpt") expected = 1 / std::sqrt(512.0);            // d_model is missing
    if (type.starts_with("gemma") || type == "vaultgemma") expected = 1 / 16.0;
    if (type == "gemma3n_text" || type == "gemma4_text") expected = 1;
    // YaRN's scale factor.
    if (type == "mistral4") expected *= std::pow(0.1 * std::log(128.0) + 1, 2);
    EXPECT_EQ(scales_of(spec_of(type)), std::vector(3, expected));
    const auto cap = spec_of(type).layers[0].attention.soft_cap;
    EXPECT_EQ(cap.value_or(0), type == "gemma2" || type == "vaultgemma" ? 50 : 0);
  }
  EXPECT_EQ(scales_of(spec_of("gpt2", {{"scale_attn_weights", false}})), std::vector(3, 1.0));
  EXPECT_EQ(scales_of(spec_of("gpt2", {{"scale_attn_by_inverse_layer_idx", true}})),
            (std::vector{usual, usual / 2, usual / 3}));
  // Not the head dimension, which is 256 if the file does not set it.
  EXPECT_EQ(scales_of(spec_of("gemma3_text", {{"query_pre_attn_scalar", 64}, {"head_dim", 8}})),
            std::vector(3, 0.125));
  EXPECT_EQ(scales_of(spec_of("gemma", {{"query_pre_attn_scalar", 64}, {"head_dim", 4}})),
            std::vector(3, 0.5));

  const auto cap = [](const char* type, const json& changes) {
    return spec_of(type, changes).layers[0].attention.soft_cap;
  };
  EXPECT_EQ(cap("gemma2", {{"attn_logit_softcapping", nullptr}}), std::nullopt);
  EXPECT_EQ(cap("gemma2", {{"attn_logit_softcapping", 7.5}}), 7.5);
  EXPECT_EQ(cap("gemma3_text", {{"attn_logit_softcapping", 7.5}}), std::nullopt);
  EXPECT_EQ(spec_of("gemma2").head.soft_cap, 30);
  EXPECT_EQ(spec_of("gemma2", {{"final_logit_softcapping", nullptr}}).head.soft_cap, std::nullopt);
  EXPECT_EQ(spec_of("gemma3_text").head.soft_cap, std::nullopt);
  EXPECT_EQ(spec_of("gemma3_text", {{"final_logit_softcapping", 20}}).head.soft_cap, 20);
}

TEST(AttentionConfig, WindowsEqualThoseOfTheFamily) {
  using Windows = std::vector<std::int64_t>;
  const json five = {{"sliding_window", 5}};
  const auto with = [&](json changes) {
    changes["sliding_window"] = 5;
    return changes;
  };
  const json types = {"full_attention", "sliding_attention", "full_attention"};
  const struct {
    const char *type, *why;
    json changes;
    Windows windows;
  } cases[] = {
      {"llama", "has none, whatever keys say", five, {0, 0, 0}},
      {"mistral", "absent", json::object(), {4096, 4096, 4096}},
      {"mistral", "null", {{"sliding_window", nullptr}}, {0, 0, 0}},
      {"mistral", "layer types are not read", with({{"layer_types", types}}), {5, 5, 5}},
      {"phi3", "absent", json::object(), {0, 0, 0}},
      {"phi3", "said", five, {5, 5, 5}},
      {"qwen2", "not used", with({{"max_window_layers", 0}}), {0, 0, 0}},
      {"qwen2", "used", with({{"use_sliding_window", true}, {"max_window_layers", 1}}), {0, 5, 5}},
      {"qwen2", "from layer 28", with({{"use_sliding_window", true}}), {0, 0, 0}},
      {"qwen3",
       "layer types",
       with({{"use_sliding_window", true}, {"layer_types", types}}),
       {0, 5, 0}},
      {"qwen3",
       "absent size",
       {{"use_sliding_window", true}, {"max_window_layers", 2}},
       {0, 0, 4096}},
      {"gemma2", "every other", json::object(), {4096, 0, 4096}},
      {"gemma2", "layer types", with({{"layer_types", types}}), {0, 5, 0}},
      {"gemma2", "null layer types", with({{"layer_types", nullptr}}), {5, 0, 5}},
      {"gemma3_text", "all but every sixth", five, {5, 5, 5}},
      {"gemma3_text", "all but every second", with({{"sliding_window_pattern", 2}}), {5, 0, 5}},
      {"gpt_neo", "every other", json::object(), {0, 256, 0}},
      {"gpt_neo",
       "listed",
       {{"attention_layers", {"local", "global", "local"}}, {"window_size", 7}},
       {7, 0, 7}},
      {"gpt_neo",
       "types",
       {{"attention_types", json::parse(R"([[["global"],1],[["local","global"],1000000000]])")}},
       {0, 256, 0}},
      {"gpt_neo",
       "layers before types",
       {{"attention_layers", {"local", "local", "local"}},
        {"attention_types", json::parse(R"([[["global"],3]])")}},
       {256, 256, 256}},
  };
  for (const auto& expected : cases) {
    EXPECT_EQ(windows_of(spec_of(expected.type, expected.changes)), expected.windows)
        << expected.type << ": " << expected.why;
  }
}

/// Llama 4 with 4 layers, the last of which is a NoPE layer.
ModelSpec llama4_of(json changes = json::object()) {
  changes["num_hidden_layers"] = 4;
  return spec_of("llama4_text", changes);
}

TEST(AttentionConfig, RopeLayersAttendWithinChunks) {
  const auto chunks_of = [](const json& changes) {
    std::vector<std::int64_t> chunks;
    for (const LayerSpec& layer : llama4_of(changes).layers) {
      EXPECT_FALSE(layer.attention.mask.reach);
      chunks.push_back(layer.attention.mask.chunk.value_or(0));
    }
    return chunks;
  };
  using Chunks = std::vector<std::int64_t>;
  EXPECT_EQ(chunks_of({}), (Chunks{8192, 8192, 8192, 0}));
  EXPECT_EQ(chunks_of({{"attention_chunk_size", 5}, {"no_rope_layers", {0, 1, 1, 0}}}),
            (Chunks{0, 5, 5, 0}));
  const json kinds = {"chunked_attention", "full_attention", "full_attention", "chunked_attention"};
  EXPECT_EQ(chunks_of({{"attention_chunk_size", 5}, {"layer_types", kinds}}), (Chunks{5, 0, 0, 5}));
  const json windows = {"sliding_attention", "full_attention", "full_attention", "full_attention"};
  EXPECT_EQ(llama4_of({{"layer_types", windows}}).not_run,
            "layer type 'sliding_attention' is not known");
}

TEST(AttentionConfig, NopeLayersScaleTheirQueries) {
  const ModelSpec spec = llama4_of({{"floor_scale", 7}});
  const AttentionSpec &rotates = spec.layers[0].attention, &does_not = spec.layers[3].attention;
  EXPECT_TRUE(rotates.rope && rotates.query_norm && rotates.key_norm && !rotates.temperature);
  EXPECT_FALSE(rotates.query_norm->has_gain() || rotates.value_norm);
  EXPECT_FALSE(does_not.rope || does_not.query_norm || does_not.key_norm);
  ASSERT_TRUE(does_not.temperature);
  EXPECT_EQ(does_not.temperature->growth, 0.1);
  EXPECT_EQ(does_not.temperature->period, 7);
  EXPECT_EQ(does_not.temperature->first, 1);
  EXPECT_FALSE(llama4_of({{"attn_temperature_tuning", false}}).layers[3].attention.temperature);
  EXPECT_FALSE(llama4_of({{"use_qk_norm", false}}).layers[0].attention.query_norm);
}

TEST(AttentionConfig, ReportsCausalMasks) {
  const auto causal = [](const char* type, const json& changes = json::object()) {
    return spec_of(type, changes).layers[0].attention.mask.causal;
  };
  const json decoder = {{"is_decoder", true}};
  for (const char* type : {"bert", "roberta"}) {
    EXPECT_FALSE(causal(type)) << type;
    EXPECT_TRUE(causal(type, decoder)) << type;
  }
  for (const char* type : {"albert", "distilbert"}) EXPECT_FALSE(causal(type, decoder)) << type;
  EXPECT_TRUE(causal("gpt2"));
  EXPECT_TRUE(causal("gemma3_text"));
  const json flag = {{"use_bidirectional_attention", true}};
  EXPECT_FALSE(causal("gemma3_text", flag));
  EXPECT_FALSE(spec_of("gemma3_text", flag).causal) << "it foretells no next token";
  EXPECT_TRUE(causal("gemma2", flag));
  EXPECT_TRUE(spec_of("gemma2", flag).not_run.empty());
}

TEST(AttentionConfig, ADecoderMayBeBidirectional) {
  const json bidirectional = {{"is_causal", false}};
  for (const std::string& type : known_types()) {
    SCOPED_TRACE(type);
    const ModelSpec usual = spec_of(type), spec = spec_of(type, bidirectional);
    const bool reads_it = type != "gpt_neo" && type != "daisy_gpt2" && type != "openai-gpt";
    EXPECT_EQ(spec.causal, usual.causal && !reads_it);
    EXPECT_EQ(spec.layers[0].attention.mask.causal, spec.causal);
    EXPECT_EQ(spec.not_run, spec.architecture.not_run);
  }
  const json decoder = {{"is_decoder", true}, {"is_causal", false}};
  EXPECT_FALSE(spec_of("bert", decoder).causal);
}

TEST(AttentionConfig, BidirectionalModelsMayHaveWindows) {
  using Reaches = std::vector<std::int64_t>;
  const json window = {{"sliding_window", 5}, {"is_causal", false}};
  EXPECT_EQ(reaches_of(spec_of("mistral", window)), (Reaches{5, 5, 5}));
  EXPECT_EQ(reaches_of(spec_of("gemma2", window)), (Reaches{5, 0, 5}));
  EXPECT_EQ(reaches_of(spec_of("gemma3_text", window)), (Reaches{5, 5, 5}));
  const json flag = {{"sliding_window", 5}, {"use_bidirectional_attention", true}};
  EXPECT_EQ(reaches_of(spec_of("gemma3_text", flag)), (Reaches{2, 2, 2}));
  json both = flag;
  both["is_causal"] = false;
  EXPECT_EQ(reaches_of(spec_of("gemma3_text", both)), (Reaches{3, 3, 3}));
}

TEST(AttentionConfig, RejectsMasksThatTransformersInterpretsInTwoWays) {
  const struct {
    const char *type, *key;
    json changes;
  } unclear[] = {
      {"llama", "'is_causal' is null", {{"is_causal", nullptr}}},
      {"bert", "'is_causal' is true", {{"is_causal", true}}},
      {"albert", "'is_causal' is true", {{"is_causal", true}}},
      {"gemma", "'use_bidirectional_attention' is true", {{"use_bidirectional_attention", true}}},
  };
  for (const auto& expected : unclear) {
    const ModelSpec spec = spec_of(expected.type, expected.changes);
    EXPECT_TRUE(spec.not_run.starts_with(expected.key)) << expected.type << ": " << spec.not_run;
  }
  const json said = {{"use_bidirectional_attention", true}, {"is_causal", false}};
  EXPECT_EQ(spec_of("gemma", said).not_run, "");
  for (const char* type : {"gpt_neo", "bert"}) {
    EXPECT_EQ(spec_of(type, {{"is_causal", nullptr}}).not_run, "") << type;
  }
}

TEST(AttentionConfig, RejectsUnknownPositionEmbeddings) {
  const auto not_run = [](const json& kind) {
    return spec_of("bert", {{"position_embedding_type", kind}}).not_run;
  };
  EXPECT_EQ(not_run("absolute"), "");
  EXPECT_EQ(not_run(nullptr), "");
  EXPECT_EQ(not_run("relative_key"), "position_embedding_type 'relative_key' is not known");
}

TEST(AttentionConfig, PhiHeadsMayHaveTheirOwnDimension) {
  EXPECT_EQ(spec_of("phi", {{"head_dim", 16}}).dimensions.heads.head_dim, 16);
  EXPECT_EQ(spec_of("phi").dimensions.heads.head_dim, 8);
}

TEST(AttentionConfig, RejectsPerLayerConfigs) {
  EXPECT_NO_THROW(spec_of("llama", {{"per_layer_config", json::object()}}));
  try {
    spec_of("llama", {{"per_layer_config", {{"1", {{"num_attention_heads", 2}}}}}});
    FAIL() << "read";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  }
}

}  // namespace
}  // namespace attnscope::test
