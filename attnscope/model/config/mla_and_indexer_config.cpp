#include "attnscope/model/config/mla_and_indexer_config.h"

#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "attnscope/base/text.h"

namespace attnscope {

void read_mla(const MlaRule& rule, const ConfigReader& config, Dimensions& dimensions) {
  HeadShape& heads = dimensions.heads;
  heads.kv_heads = heads.heads;
  // 0: all key dimensions are rotated, as in files that `shrink` writes for a small KV cache.
  const auto given = config.number(rule.plain_dim, /*least=*/0);
  const std::int64_t plain = given ? *given : config.required(rule.plain_dim);
  heads.shared_key_dim = config.required(rule.rotary_dim);
  heads.head_dim = plain + heads.shared_key_dim;
  if (heads.shared_key_dim % 2 != 0) {
    config.refuse("'" + rule.rotary_dim.name + "' is " + std::to_string(heads.shared_key_dim) +
                  ", expected an even number, because RoPE rotates pairs of dimensions");
  }
  const auto value = config.number(rule.value_dim);
  if (!value && dimensions.width % heads.heads != 0) {
    config.refuse("hidden size " + std::to_string(dimensions.width) + " is not a multiple of " +
                  counted(heads.heads, "head") + ", and '" + rule.value_dim.name + "' is missing");
  }
  heads.value_dim = value.value_or(dimensions.width / heads.heads);
  dimensions.mla = MlaRanks{.query = config.number(rule.query_rank).value_or(0),
                            .key_value = config.required(rule.rank)};
}

void keep_mla_weights(ModelSpec& spec) {
  if (!spec.dimensions.mla) return;
  const bool has_latent = spec.dimensions.mla->query > 0;
  std::erase_if(spec.architecture.weights, [&](const WeightRule& rule) {
    const bool of_latent = rule.role == Role::query_down || rule.role == Role::query_up;
    return has_latent ? rule.role == Role::query : of_latent;
  });
}

MlaSpec mla_norms(const MlaRule& rule, const Dimensions& dimensions) {
  const auto norm = [&](const std::string& tensor) {
    return NormSpec{.kind = NormKind::rms, .epsilon = rule.epsilon, .tensor = tensor};
  };
  MlaSpec out{.norm = norm(rule.norm)};
  if (dimensions.mla->query > 0) out.query_norm = norm(rule.query_norm);
  return out;
}

namespace {

/// Whether each layer is of type `shared`, in a list of `shared` and `full`.
std::vector<bool> listed_as_shared(const ConfigReader& config, const std::string& key,
                                   const std::vector<std::string>& kinds, const char* full,
                                   const char* shared, std::size_t layers) {
  if (kinds.size() < layers) {
    config.refuse("'" + key + "' lists " + std::to_string(kinds.size()) + " of " +
                  counted(layers, "layer"));
  }
  std::vector<bool> out;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    if (kinds[layer] != full && kinds[layer] != shared) {
      config.refuse("'" + key + "' contains values other than \"" + full + "\" and \"" + shared +
                    "\"");
    }
    out.push_back(kinds[layer] == shared);
  }
  return out;
}

/// Whether each layer reuses the keys that the previous layer selects. Source: transformers,
/// GlmMoeDsaConfig.
std::vector<bool> shared_layers(const IndexerRule& rule, const ConfigReader& config,
                                std::size_t layers) {
  const auto listed = [&](const std::string& key) {
    return listed_as_shared(config, key, config.texts(key), "full", "shared", layers);
  };
  if (config.find(rule.kinds) != nullptr) return listed(rule.kinds);
  if (const nlohmann::json* pattern = config.find(rule.pattern)) {
    if (!pattern->is_string()) return listed(rule.pattern);
    std::vector<std::string> letters;
    for (const char letter : config.text(rule.pattern)) letters.emplace_back(1, letter);
    return listed_as_shared(config, rule.pattern, letters, "F", "S", layers);
  }
  const auto period = std::max<std::int64_t>(config.number(rule.period, -kMaxSize).value_or(1), 1);
  const std::int64_t offset = config.number(rule.offset, -kMaxSize).value_or(0);
  std::vector<bool> out;
  for (std::int64_t layer = 0; layer < static_cast<std::int64_t>(layers); ++layer) {
    out.push_back(std::max<std::int64_t>(layer - offset + 1, 0) % period != 0);
  }
  return out;
}

}  // namespace

std::string set_indexers(ModelSpec& spec, const ConfigReader& config) {
  if (!spec.architecture.indexer) return "";
  const IndexerRule& rule = *spec.architecture.indexer;
  const Dimensions& dimensions = spec.dimensions;
  IndexerSpec own{
      .kept = config.required(rule.kept),
      .heads = config.required(rule.heads),
      .head_dim = config.required(rule.head_dim),
      .pairs = rule.neighbors ? RotaryPairs::neighbors : RotaryPairs::halves,
      .query = rule.query,
      .key = rule.key,
      .weights = rule.weights,
      .key_norm = {.kind = NormKind::layer, .epsilon = rule.epsilon, .tensor = rule.key_norm}};
  if (own.heads > kMaxSize / own.head_dim) {
    config.refuse("an indexer of " + counted(own.heads, "head") + " of " +
                  counted(own.head_dim, "dimension") + " exceeds the limit of " +
                  std::to_string(kMaxSize));
  }
  const std::int64_t rotary = dimensions.heads.shared_key_dim;
  if (rotary > own.head_dim) {
    config.refuse("the heads of the indexer have " + counted(own.head_dim, "dimension") +
                  ", but RoPE rotates " + std::to_string(rotary) + " of them");
  }
  const std::vector<bool> shared =
      shared_layers(rule, config, static_cast<std::size_t>(dimensions.layers));
  bool selected = false;
  for (const std::int64_t layer : dimensions.attention_layers()) {
    own.shared = shared[static_cast<std::size_t>(layer)];
    if (own.shared && !selected) {
      config.refuse("layer " + std::to_string(layer) +
                    " is configured to reuse the keys that an earlier layer selects, but no "
                    "earlier layer selects any");
    }
    selected = true;
    spec.layers[static_cast<std::size_t>(layer)].attention.indexer = own;
  }
  const bool has_latent = dimensions.mla && dimensions.mla->query > 0;
  return has_latent ? "" : "an indexer requires a query latent";
}

}  // namespace attnscope
