// Models whose encoder and decoder are models of other architectures: their stacks, and configs
// that are refused.
#include "attnscope/model/config/models_of_two.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "attnscope/model/config/parse_config.h"
#include "tests/support/expect_error.h"

namespace attnscope {
namespace {

using nlohmann::json;

json image_encoder(std::int64_t width) {
  return {{"model_type", "vit"},
          {"hidden_size", width},
          {"num_hidden_layers", 2},
          {"num_attention_heads", 2},
          {"intermediate_size", 24}};
}

json gpt2_decoder(std::int64_t width) {
  return {{"model_type", "gpt2"}, {"n_embd", width}, {"n_layer", 3}, {"n_head", 2}};
}

json model_of(const json& encoder, const json& decoder) {
  return {{"model_type", "vision-encoder-decoder"}, {"encoder", encoder}, {"decoder", decoder}};
}

std::vector<ModelSpec> parsed(const json& config) {
  return parse_stacks(config.dump(), "config.json");
}

TEST(ModelsOfTwo, HaveTheStacksOfBothModels) {
  const std::vector<ModelSpec> specs = parsed(model_of(image_encoder(8), gpt2_decoder(8)));
  ASSERT_EQ(specs.size(), 3U);
  const std::vector<std::string> stacks = {"encoder", "decoder", "cross"};
  for (std::size_t at = 0; at < specs.size(); ++at) {
    const Architecture& architecture = specs[at].architecture;
    EXPECT_EQ(architecture.stack, stacks[at]);
    EXPECT_EQ(architecture.name, "vision-encoder-decoder");
    EXPECT_TRUE(architecture.prefixes.front().starts_with(at == 0 ? "encoder." : "decoder."));
    EXPECT_EQ(specs[at].not_run, "");
  }
  EXPECT_EQ(specs[1].dimensions.layers, 3);
  EXPECT_TRUE(specs[1].tied);
  EXPECT_EQ(specs[2].architecture.source_projection, "");
}

/// The settings of the whole model are not about its decoder.
TEST(ModelsOfTwo, TieTheHeadAsTheDecoderDoes) {
  json config = model_of(image_encoder(8), gpt2_decoder(8));
  config["tie_word_embeddings"] = false;
  EXPECT_TRUE(parsed(config)[1].tied);
  config["decoder"]["tie_word_embeddings"] = false;
  EXPECT_FALSE(parsed(config)[1].tied);
}

TEST(ModelsOfTwo, ProjectTheEncoderOutputToTheDecodersSize) {
  EXPECT_EQ(parsed(model_of(image_encoder(12), gpt2_decoder(8)))[2].architecture.source_projection,
            "enc_to_dec_proj");
  const json trocr = {{"model_type", "trocr"},
                      {"d_model", 8},
                      {"decoder_layers", 1},
                      {"decoder_attention_heads", 2},
                      {"cross_attention_hidden_size", 12}};
  const ModelSpec cross = parsed(model_of(image_encoder(12), trocr))[2];
  EXPECT_EQ(cross.architecture.source_projection, "");
  EXPECT_EQ(canonical_shape(cross.dimensions, Role::key), std::pair(8L, 12L));
  EXPECT_EQ(canonical_shape(cross.dimensions, Role::query), std::pair(8L, 8L));
  EXPECT_ERROR_SAYING(ErrorKind::format, parsed(model_of(image_encoder(16), trocr)),
                      "cross_attention_hidden_size", "hidden size 16");
}

TEST(ModelsOfTwo, RefuseWhatIsNotDescribed) {
  json config = model_of(image_encoder(8), gpt2_decoder(8));
  config["decoder"]["model_type"] = "opt";
  EXPECT_ERROR_SAYING(ErrorKind::unsupported, parsed(config), "'opt'", "cross-attention");
  config.erase("decoder");
  EXPECT_ERROR_SAYING(ErrorKind::format, parsed(config), "no object 'decoder'", "config.json");
  config = model_of(gpt2_decoder(8), gpt2_decoder(8));
  config["encoder"] = {{"model_type", "bart"}};
  EXPECT_ERROR_SAYING(ErrorKind::unsupported, parsed(config), "bart", "several stacks");
}

/// A decoder requires the output of its encoder.
TEST(ModelsOfTwo, AreNotRunWithoutTheirEncoder) {
  const json encoder = {{"model_type", "videomae"},
                        {"hidden_size", 8},
                        {"num_hidden_layers", 1},
                        {"num_attention_heads", 2},
                        {"intermediate_size", 8}};
  const json config = model_of(encoder, gpt2_decoder(8));
  for (const ModelSpec& spec : parsed(config)) EXPECT_NE(spec.not_run, "");
}

TEST(ModelsOfTwo, AudioEncodersWithAnAdapterAreNotRun) {
  for (const char* type : {"wavlm", "wav2vec2", "wav2vec2-bert"}) {
    const json config = {{"model_type", type}, {"add_adapter", true}};
    EXPECT_NE(parse_config(config.dump(), "config.json").not_run.find("add_adapter"),
              std::string::npos)
        << type;
  }
  const json relative = {{"model_type", "wav2vec2-bert"}, {"position_embeddings_type", "relative"}};
  EXPECT_NE(parse_config(relative.dump(), "config.json").not_run, "");
}

}  // namespace
}  // namespace attnscope
