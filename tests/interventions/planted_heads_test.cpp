// Measures of heads with a known effect: one that copies attended tokens, one that suppresses them,
// and one that writes nothing.
#include <cmath>

#include "tests/features/attention/attention_model.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

constexpr std::int64_t kPlantedTokens = 12, kPlantedLength = 16, kPlantedWindows = 6;
enum Planted : std::int64_t { kCopies, kSuppresses, kInert, kPlanted };

TensorToWrite identities(std::string name, Shape shape, const std::vector<float>& factors,
                         bool as_columns) {
  TensorToWrite out = zero_tensor(std::move(name), "F32", 32, std::move(shape));
  for (std::size_t block = 0; block < factors.size(); ++block) {
    const auto first = static_cast<std::int64_t>(block) * kPlantedTokens;
    for (std::int64_t at = 0; at < kPlantedTokens; ++at) {
      set_element(out, as_columns ? at : first + at, as_columns ? first + at : at, factors[block]);
    }
  }
  return out;
}

TensorToWrite planted_ones(std::string name) {
  TensorToWrite out = identities(std::move(name), {1, kPlantedTokens}, {}, false);
  for (std::int64_t at = 0; at < kPlantedTokens; ++at) set_element(out, 0, at, 1);
  out.shape = {kPlantedTokens};
  return out;
}

/// Each token is a separate dimension. All heads have uniform attention. They write twice the
/// attended embedding, its negative, or nothing.
std::string planted_model(const TempFolder& folder) {
  TinyLlama model(1);
  model.config.update({{"num_attention_heads", kPlanted},
                       {"num_key_value_heads", kPlanted},
                       {"head_dim", kPlantedTokens},
                       {"hidden_size", kPlantedTokens},
                       {"vocab_size", kPlantedTokens},
                       {"rms_norm_eps", 0.0}});
  const std::string layer = "model.layers.0.", mlp = layer + "mlp.";
  const auto planted_zeros = [](const std::string& name, Shape shape) {
    return zero_tensor(name, "F32", 32, std::move(shape));
  };
  const auto attention = [](char matrix) { return TinyLlama::attention_name(0, matrix); };
  constexpr std::int64_t kWide = kPlanted * kPlantedTokens, kMlp = TinyLlama::kMlp;
  model.tensors = {
      identities("model.embed_tokens.weight", {kPlantedTokens, kPlantedTokens}, {1}, false),
      planted_zeros(attention('q'), {kWide, kPlantedTokens}),
      planted_zeros(attention('k'), {kWide, kPlantedTokens}),
      identities(attention('v'), {kWide, kPlantedTokens}, {1, 1, 1}, /*as_columns=*/false),
      identities(attention('o'), {kPlantedTokens, kWide}, {2, -2, 0}, /*as_columns=*/true),
      planted_zeros(mlp + "gate_proj.weight", {kMlp, kPlantedTokens}),
      planted_zeros(mlp + "up_proj.weight", {kMlp, kPlantedTokens}),
      planted_zeros(mlp + "down_proj.weight", {kPlantedTokens, kMlp}),
      planted_ones(layer + "input_layernorm.weight"),
      planted_ones(layer + "post_attention_layernorm.weight"),
      planted_ones("model.norm.weight"),
      identities("lm_head.weight", {kPlantedTokens, kPlantedTokens}, {1}, false)};
  return model.write(folder, "planted");
}

/// Windows with three distinct tokens each, so that attended tokens occur again.
std::vector<std::uint16_t> repetitive_tokens() {
  std::vector<std::uint16_t> tokens = random_tokens(kPlantedWindows * kPlantedLength, 3);
  for (std::size_t at = 0; at < tokens.size(); ++at) {
    tokens[at] = static_cast<std::uint16_t>(tokens[at] + 3 * (at / kPlantedLength % 4));
  }
  return tokens;
}

Words on_planted_text(const TempFolder& folder, const std::vector<std::uint16_t>& tokens) {
  const auto shard = folder.write("tokens.bin", shard_bytes(tokens));
  return {"--token-file", shard.string(),
          "--sequences",  std::to_string(kPlantedWindows),
          "--length",     std::to_string(kPlantedLength)};
}

/// The rows of the heads, indexed by head.
std::vector<json> rows_of_heads(const Words& command) {
  std::vector<json> out;
  const json report = report_of(command);
  for (const json& row : report["rows"]) {
    if (row["head"].is_number()) out.push_back(row);
  }
  return out;
}

/// The attended-token effect of a head that writes `factor` times the attended embedding. The other
/// heads cancel, so the RMS of the residual stream is √(1/12) at every norm. Uniform attention is a
/// mean.
double expected_effect(const std::vector<std::uint16_t>& tokens, double factor) {
  std::vector<double> frequency(kPlantedTokens, 0.0);
  for (const auto token : tokens) frequency[token] += 1.0 / static_cast<double>(tokens.size());
  double sum = 0;
  for (std::size_t first = 0; first < tokens.size(); first += kPlantedLength) {
    double read = 0;
    for (std::size_t query = 0; query < kPlantedLength; ++query) {
      read += 1 - frequency[tokens[first + query]];
      sum += read / static_cast<double>(query + 1);
    }
  }
  return factor * kPlantedTokens * sum / static_cast<double>(tokens.size());
}

TEST(PlantedHeads, CopyOrSuppressAttendedTokens) {
  const TempFolder folder;
  const std::vector<std::uint16_t> tokens = repetitive_tokens();
  const auto heads =
      rows_of_heads(Words{"attention", planted_model(folder)} + on_planted_text(folder, tokens));
  ASSERT_EQ(heads.size(), static_cast<std::size_t>(kPlanted));
  const double expected = expected_effect(tokens, 2);
  EXPECT_NEAR(heads[kCopies]["attended_token_effect"].get<double>(), expected, 1e-5 * expected);
  EXPECT_NEAR(heads[kSuppresses]["attended_token_effect"].get<double>(), -expected,
              1e-5 * expected);
  EXPECT_EQ(heads[kInert]["attended_token_effect"], 0.0);
  for (const json& head : {heads[kCopies], heads[kSuppresses]}) {
    EXPECT_LT(2 * head["attended_token_effect_error"].get<double>(),
              std::abs(head["attended_token_effect"].get<double>()));
  }
}

TEST(PlantedHeads, HaveTheExpectedAblationEffect) {
  const TempFolder folder;
  for (const char* how : {"mean", "zero", "resample"}) {
    SCOPED_TRACE(how);
    const auto heads = rows_of_heads(
        Words{"ablate", planted_model(folder), "--components", "heads", "--ablation", how} +
        on_planted_text(folder, repetitive_tokens()));
    ASSERT_EQ(heads.size(), static_cast<std::size_t>(kPlanted));
    const auto increase = [&](Planted head) { return heads[head]["loss_increase"].get<double>(); };
    const auto error = [&](Planted head) {
      return heads[head]["loss_increase_error"].get<double>();
    };
    EXPECT_GT(increase(kCopies), 2 * error(kCopies));
    EXPECT_LT(increase(kSuppresses), -2 * error(kSuppresses));
    for (const char* field :
         {"loss_increase", "loss_increase_error", "kl", "top_token_changed", "direct_effect"}) {
      EXPECT_EQ(heads[kInert][field], 0.0) << field;
    }
  }
}

TEST(PlantedHeads, WriteTheAttendedTokensOrTheirNegatives) {
  const TempFolder folder;
  const json report = report_of({"directions", planted_model(folder), "--names", "embedding"});
  std::map<std::pair<std::int64_t, std::int64_t>, std::map<std::string, json>> lists;
  for (const json& row : report["rows"]) {
    ASSERT_NE(row["head"], kInert) << "its circuit is zero";
    lists[{row["head"], row["direction"]}][std::string(row["singular_vector"]) +
                                           std::string(row["sign"])] = row["tokens"][0]["token_id"];
  }
  ASSERT_EQ(lists.size(), 6u);  // three directions each
  for (const auto& [place, first] : lists) {
    const bool copies = place.first == kCopies;
    EXPECT_EQ(first.at("input+"), first.at(copies ? "output+" : "output-"));
    EXPECT_EQ(first.at("input-"), first.at(copies ? "output-" : "output+"));
  }
}

}  // namespace
}  // namespace attnscope::test
