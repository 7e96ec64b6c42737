// Embeddings and layer inputs, as set by config.json and the description of an architecture.
// Expected values are those of transformers 5.
#include <gtest/gtest.h>

#include "tests/model/spec_of.h"

namespace attnscope::test {
namespace {

TEST(EmbeddingAndNormConfig, AttentionAndMlpMayBeParallel) {
  EXPECT_TRUE(spec_of("gpt_neox").layers[0].parallel);
  EXPECT_FALSE(spec_of("gpt_neox", {{"use_parallel_residual", false}}).layers[0].parallel);
  EXPECT_TRUE(spec_of("phi").layers[0].parallel);
  EXPECT_FALSE(spec_of("llama", {{"use_parallel_residual", true}}).layers[0].parallel);
}

TEST(EmbeddingAndNormConfig, EmbeddingsEqualThoseOfTheFamily) {
  const ModelSpec opt = spec_of("opt", {{"word_embed_proj_dim", 16}});
  EXPECT_TRUE(opt.stream.has_projection);
  EXPECT_EQ(opt.stream.embedding_width, 16);
  EXPECT_EQ(opt.stream.embedding.position_offset, 2);
  EXPECT_FALSE(spec_of("opt", {{"word_embed_proj_dim", 32}}).stream.has_projection);
  EXPECT_FALSE(spec_of("opt", {{"word_embed_proj_dim", nullptr}}).stream.has_projection);

  const ModelSpec albert = spec_of("albert");
  EXPECT_TRUE(albert.stream.has_projection);
  EXPECT_EQ(albert.stream.embedding_width, 128);
  EXPECT_TRUE(spec_of("albert", {{"embedding_size", 32}}).stream.has_projection);

  EXPECT_EQ(spec_of("roberta").stream.padding_token, 1);
  EXPECT_EQ(spec_of("roberta", {{"pad_token_id", 0}}).stream.padding_token, 0);
  EXPECT_EQ(spec_of("bert").stream.embedding_norm->tensor, "embeddings.LayerNorm");
  EXPECT_EQ(spec_of("gpt2").stream.embedding_norm, std::nullopt);
  EXPECT_TRUE(spec_of("gemma3_text").stream.embedding.times_sqrt_width.fallback);
  EXPECT_FALSE(spec_of("qwen3").stream.embedding.times_sqrt_width.fallback);
}

TEST(EmbeddingAndNormConfig, DaisyAddsSkipConnectionsAndValueEmbeddings) {
  const ModelSpec spec = spec_of("daisy_gpt2", {{"num_layers", 16}});
  const auto skip_from = [&](std::size_t layer) { return spec.layers[layer].input->skip_from; };
  EXPECT_EQ(skip_from(5), std::nullopt);
  EXPECT_EQ(skip_from(6), 4);
  EXPECT_EQ(skip_from(7), 3);
  EXPECT_EQ(spec.layers[6].input->skip.index, 4) << "of the layer that it comes from";
  EXPECT_EQ(spec.layers[6].input->of_stream.index, 16 + 12);
  EXPECT_EQ(spec.layers[6].input->of_embedding.index, 16 + 13);
  const auto& last = *spec.layers[15].attention.value_embedding;
  EXPECT_EQ(last.table, "value_embeds.2.weight");
  EXPECT_EQ(last.of_value.index, 3 * 16 + 30);
  EXPECT_EQ(last.of_table.index, 3 * 16 + 31);
  EXPECT_EQ(spec.layers[3].attention.value_embedding->table, "");
  EXPECT_TRUE(spec.layers[0].attention.value_norm);
  EXPECT_TRUE(spec.layers[0].attention.rope->half_truncated);
  EXPECT_EQ(spec.layers[0].attention.rope->theta, 1024);
}

}  // namespace
}  // namespace attnscope::test
