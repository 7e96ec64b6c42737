// A text that is run in parts, with a cache of keys and values, gives what it gives as a whole: of
// every golden model that reads from left to right.
#include "attnscope/forward/key_value_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/generation/greedy_decoding.h"
#include "tests/support/compute.h"
#include "tests/support/golden_variants.h"

namespace attnscope {
namespace {

using namespace test;

using Rows = std::vector<std::vector<float>>;

/// What a run gives of its last token: hidden states, a row of every map, logits.
Rows last_rows(const ForwardPass& pass, const TokenIds& tokens, std::span<KeyValueCache> caches) {
  Rows rows;
  const auto keep_last = [&](MatrixView<const float> matrix) {
    const float* row = &matrix(matrix.rows - 1, 0);
    rows.emplace_back(row, row + matrix.cols);
  };
  const ForwardObserver observer{
      .on_hidden_states = [&](std::int64_t, MatrixView<const float> states) { keep_last(states); },
      .on_maps =
          [&](const LayerMaps& layer) {
            for (std::int64_t head = 0; head < layer.heads; ++head) keep_last(layer.map(0, head));
          }};
  const Matrix<float> states = pass.run(std::span(&tokens, 1), observer, test_compute(), caches);
  if (pass.no_logits().empty()) keep_last(pass.logits(states.view(), test_compute()).view());
  return rows;
}

void expect_same(const Rows& got, const Rows& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t at = 0; at < got.size(); ++at) {
    ASSERT_EQ(got[at].size(), wanted[at].size()) << at;
    // The kernels give a row the same digits whatever rows are beside it; BLAS need not.
    if (test_compute().kernels.available()) {
      ASSERT_EQ(got[at], wanted[at]) << at;
      continue;
    }
    float largest = 0, difference = 0;
    for (std::size_t col = 0; col < got[at].size(); ++col) {
      largest = std::max(largest, std::abs(wanted[at][col]));
      difference = std::max(difference, std::abs(got[at][col] - wanted[at][col]));
    }
    ASSERT_LE(difference, 2e-5F * largest) << at;
  }
}

/// Up to where a longer text turns the keys of earlier tokens as before, or they are made anew.
std::int64_t same_positions_up_to(const ModelSpec& spec) {
  const auto& rope = spec.layers.front().attention.rope;
  if (!rope || rope->scaling != RopeScaling::dynamic) return 1'000'000;
  return static_cast<std::int64_t>(rope->context);
}

class CachedRun : public testing::TestWithParam<Variant> {};

TEST_P(CachedRun, OfPartsIsThatOfTheWholeText) {
  const Model model = model_of(GetParam());
  if (!model.spec().causal) return;  // sees later tokens: nothing of a text can be kept
  const ForwardPass pass(model, true, test_compute());
  for (TokenIds text : texts_of(expected_of(GetParam()), "tokens")) {
    text.resize(
        static_cast<std::size_t>(std::min(std::ssize(text), same_positions_up_to(model.spec()))));
    for (const std::size_t step : {1, 2, 5}) {
      KeyValueCache cache(model.spec(), std::ssize(text) + 1);
      while (cache.tokens().size() < text.size()) {
        const std::size_t end = std::min(text.size(), cache.tokens().size() + step);
        if (!can_continue(model.spec(), std::ssize(cache.tokens()),
                          static_cast<std::int64_t>(end))) {
          cache.keep(0);
        }
        const TokenIds part(text.begin() + std::ssize(cache.tokens()),
                            text.begin() + static_cast<std::ptrdiff_t>(end));
        const TokenIds whole(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end));
        SCOPED_TRACE(std::to_string(end) + " tokens, " + std::to_string(part.size()) + " new");
        ASSERT_NO_FATAL_FAILURE(
            expect_same(last_rows(pass, part, std::span(&cache, 1)), last_rows(pass, whole, {})));
        ASSERT_EQ(cache.tokens(), whole);
      }
    }
  }
}

std::int64_t most_likely(const ForwardPass& pass, const TokenIds& text) {
  const Matrix<float> states = pass.run(std::span(&text, 1), {}, test_compute());
  const Matrix<float> logits =
      pass.logits(states.view().row_block(states.rows() - 1, 1), test_compute());
  return std::max_element(logits.data(), logits.data() + logits.cols()) - logits.data();
}

/// What running all of the text for every token writes.
TokenIds written_without_cache(const ForwardPass& pass, TokenIds text, std::int64_t count) {
  TokenIds written;
  while (std::ssize(written) < count) {
    written.push_back(most_likely(pass, text));
    text.push_back(written.back());
  }
  return written;
}

Generated written_with_cache(const ForwardPass& pass, const TokenIds& prompt, std::int64_t count) {
  KeyValueCache text(pass.model().spec(), std::ssize(prompt) + count);
  pass.run(std::span(&prompt, 1), {}, test_compute(), std::span(&text, 1));
  TokenIds seen;
  const Generated written = generate_greedily(
      pass, text, most_likely(pass, prompt), count, /*ends=*/{},
      [&](std::int64_t token) { seen.push_back(token); }, test_compute());
  EXPECT_EQ(seen, written.tokens);
  return written;
}

TEST_P(CachedRun, WritesWhatRunningTheWholeTextForEachTokenWrites) {
  const Model model = model_of(GetParam());
  if (!model.spec().causal) return;  // sees later tokens: nothing of a text can be kept
  const ForwardPass pass(model, true, test_compute());
  if (!pass.no_logits().empty()) return;
  TokenIds prompt = texts_of(expected_of(GetParam()), "tokens").front();
  prompt.resize(3);
  const std::int64_t end =
      std::min({std::int64_t{40}, pass.longest(), same_positions_up_to(model.spec())});
  const std::int64_t count = end - std::ssize(prompt) + 1;  // the last one is not run
  EXPECT_EQ(written_with_cache(pass, prompt, count).tokens,
            written_without_cache(pass, prompt, count));
}

/// Another spelling of a config is the same model.
std::vector<Variant> variants_of_models() {
  std::vector<Variant> variants = all_variants();
  std::erase_if(variants, [](const Variant& variant) { return !variant.spelling.empty(); });
  return variants;
}

INSTANTIATE_TEST_SUITE_P(Cases, CachedRun, testing::ValuesIn(variants_of_models()), name_of_case);

// So long that attention is cut into several blocks.
TEST(KeyValueCache, HoldsLongTexts) {
  for (const Variant& variant :
       {Variant{"llama"}, Variant{"mistral", "window-8"}, Variant{"gemma3"}, Variant{"gpt_neox"},
        Variant{"qwen3_next"}, Variant{"lfm2"}}) {
    const Model model = model_of(variant);
    const ForwardPass pass(model, true, test_compute());
    TokenIds text;
    for (std::int64_t at = 0; at < 250; ++at) text.push_back(3 + at * at % 29);
    KeyValueCache cache(model.spec(), 250);
    for (const std::size_t part : {90, 1, 1, 4, 1, 1, 100, 1, 51}) {
      const auto begin = text.begin() + std::ssize(cache.tokens());
      const TokenIds more(begin, begin + static_cast<std::ptrdiff_t>(part));
      const Rows got = last_rows(pass, more, std::span(&cache, 1));
      ASSERT_NO_FATAL_FAILURE(expect_same(got, last_rows(pass, cache.tokens(), {})))
          << variant.model << ' ' << cache.tokens().size();
    }
    EXPECT_EQ(cache.tokens(), text);
  }
}

TEST(KeyValueCache, OfOnePromptServesSeveralTexts) {
  const Model model = model_of(Variant{"llama"});
  const ForwardPass pass(model, true, test_compute());
  KeyValueCache cache(model.spec(), 40);
  const TokenIds prompt = {5, 6, 7, 8, 9};
  last_rows(pass, prompt, std::span(&cache, 1));
  for (const TokenIds& more : {TokenIds{10, 11, 12}, TokenIds(20, 13), TokenIds{14}}) {
    cache.keep(5);
    TokenIds whole = prompt;
    whole.insert(whole.end(), more.begin(), more.end());
    expect_same(last_rows(pass, more, std::span(&cache, 1)), last_rows(pass, whole, {}));
  }
}

// A state cannot go back: the text is then run from its begin.
TEST(KeyValueCache, ForgetsAllWhereLayersHaveStates) {
  const Model model = model_of(Variant{"lfm2"});
  const ForwardPass pass(model, true, test_compute());
  KeyValueCache cache(model.spec(), 10);
  const TokenIds prompt = {5, 6, 7, 8, 9}, more = {10, 11};
  last_rows(pass, prompt, std::span(&cache, 1));
  cache.keep(5);
  EXPECT_EQ(cache.tokens(), prompt);
  cache.keep(3);
  EXPECT_EQ(cache.tokens(), TokenIds());
  expect_same(last_rows(pass, more, std::span(&cache, 1)), last_rows(pass, more, {}));
  EXPECT_EQ(cache.tokens(), more);
}

TEST(KeyValueCache, TakesTheMemoryOfStatesBesideThatOfKeys) {
  const ModelSpec lfm2 = model_of(Variant{"lfm2"}).spec();  // one of 3 layers attends
  ModelSpec attention = lfm2;
  attention.dimensions.layers = 1;
  attention.dimensions.mixers = nullptr;
  EXPECT_EQ(KeyValueCache::bytes(lfm2, 10),
            KeyValueCache::bytes(attention, 10) + 2 * 2 * (3 - 1) * 24 * sizeof(float));
}

class CachesOfSequences : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Cases, CachesOfSequences, testing::Values("gemma2", "qwen3_next", "lfm2"));

TEST_P(CachesOfSequences, AreEachItsOwn) {
  const Model model = model_of(Variant{GetParam()});
  const ForwardPass pass(model, true, test_compute());
  std::vector<KeyValueCache> caches;
  for (int sequence = 0; sequence < 2; ++sequence) caches.emplace_back(model.spec(), 12);
  const std::vector<TokenIds> first = {{1, 2, 3, 4, 5, 6}, {7, 8}}, second = {{9}, {10, 11, 12}};
  pass.run(first, {}, test_compute(), caches);
  const Matrix<float> states = pass.run(second, {}, test_compute(), caches);
  const std::vector<TokenIds> whole = {{1, 2, 3, 4, 5, 6, 9}, {7, 8, 10, 11, 12}};
  const Matrix<float> wanted = pass.run(whole, {}, test_compute());
  const auto row = [](const Matrix<float>& matrix, std::int64_t at) {
    return std::vector<float>(&matrix(at, 0), &matrix(at, 0) + matrix.cols());
  };
  expect_same({row(states, 0), row(states, 1), row(states, 3)},
              {row(wanted, 6), row(wanted, 9), row(wanted, 11)});
}

TEST(KeyValueCache, IsWhatItWasAfterARunThatFailed) {
  const Model model = model_of(Variant{"llama"});
  const ForwardPass pass(model, true, test_compute());
  KeyValueCache cache(model.spec(), 8);
  last_rows(pass, {1, 2, 3}, std::span(&cache, 1));
  std::stop_source stop;
  const ForwardObserver observer{.on_maps = [&](const LayerMaps&) { stop.request_stop(); }};
  const TokenIds more = {4, 5};
  EXPECT_THROW(pass.run(std::span(&more, 1), observer, test_compute(nullptr, stop.get_token()),
                        std::span(&cache, 1)),
               Stopped);
  EXPECT_EQ(cache.tokens(), (TokenIds{1, 2, 3}));
  expect_same(last_rows(pass, {6, 7}, std::span(&cache, 1)), last_rows(pass, {1, 2, 3, 6, 7}, {}));
  EXPECT_THROW(last_rows(pass, {1, 2, 3, 4}, std::span(&cache, 1)), std::length_error);
}

TEST(KeyValueCache, CountsItsMemoryWithoutOverflow) {
  const ModelSpec spec = model_of(Variant{"llama"}).spec();
  const Dimensions& dimensions = spec.dimensions;
  const HeadShape& heads = dimensions.heads;
  const auto numbers =
      static_cast<std::uint64_t>(dimensions.layers * heads.kv_heads * 1000 * 2 * heads.head_dim);
  EXPECT_GE(KeyValueCache::bytes(spec, 1000), numbers * sizeof(float));
  EXPECT_EQ(KeyValueCache::bytes(spec, std::numeric_limits<std::int64_t>::max()),
            std::numeric_limits<std::uint64_t>::max());
}

// ---- Against transformers, where a longer text turns its tokens otherwise -----------------------

class GeneratedText : public testing::TestWithParam<Variant> {};

TEST_P(GeneratedText, IsThatOfTransformersWithItsCache) {
  const Model model = model_of(GetParam());
  const ForwardPass pass(model, true, test_compute());
  const GoldenTensors expected = generated_of(GetParam());
  const TokenIds prompt = ids_of(*expected.find("prompt"));
  const TokenIds wanted = ids_of(*expected.find("tokens"));
  EXPECT_EQ(written_with_cache(pass, prompt, std::ssize(wanted)).tokens, wanted);
}

std::vector<Variant> generated_variants() {
  std::vector<Variant> variants = all_variants();
  std::erase_if(variants, [](const Variant& variant) {
    return !variant.spelling.empty() || !variant.has_generated;
  });
  return variants;
}

INSTANTIATE_TEST_SUITE_P(Cases, GeneratedText, testing::ValuesIn(generated_variants()),
                         name_of_case);

}  // namespace
}  // namespace attnscope
