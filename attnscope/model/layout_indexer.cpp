#include "attnscope/model/layout_indexer.h"

#include <nlohmann/json.hpp>
#include <string>

namespace attnscope {
namespace {

using nlohmann::json;

/// The kind of each layer, as config.json lists them.
json kinds_of_indexers(const LayoutFields& fields, const json& shared, std::int64_t layers) {
  if (!shared.is_array()) fields.fail("'shared_layers' is not a list of layers");
  json kinds(static_cast<std::size_t>(layers), "full");
  for (const json& layer : shared) {
    const bool is_layer = layer.is_number_unsigned() &&
                          layer.get<std::uint64_t>() < static_cast<std::uint64_t>(layers);
    if (!is_layer) {
      fields.fail("'shared_layers' lists what is no layer from 0 to " + std::to_string(layers - 1));
    }
    kinds[layer.get<std::size_t>()] = "shared";
  }
  return kinds;
}

}  // namespace

void parse_layout_indexer(LayoutFields& attention, ModelSpec& spec, json& config) {
  constexpr const char* kKinds = "indexer_types";
  auto fields = attention.object("indexer");
  if (!fields) return;
  if (!spec.dimensions.latent || spec.dimensions.latent->query == 0) {
    fields->fail("needs a 'latent' with a 'query_rank'");
  }
  const ScoreRule& scores = spec.architecture.scores;
  if (scores.alibi || scores.buckets || scores.disentangled) {
    attention.fail("gives an 'indexer' beside 'alibi', 'buckets' or 'disentangled'");
  }
  IndexerRule& rule = spec.architecture.indexer.emplace();
  rule.kept = {"", fields->required_number("kept")};
  rule.heads = {"", fields->required_number("heads")};
  rule.head_dim = {"", fields->required_number("head_dim")};
  rule.neighbours = fields->choice<bool>("pairs", {{"halves", false}, {"neighbours", true}});
  rule.query = fields->required_text("query");
  rule.key = fields->required_text("key");
  rule.key_norm = fields->required_text("key_norm");
  rule.weights = fields->required_text("weights");
  rule.epsilon = fields->not_negative("epsilon").value_or(rule.epsilon);
  if (const json* shared = fields->find("shared_layers")) {
    config[kKinds] = kinds_of_indexers(*fields, *shared, spec.dimensions.layers);
    rule.kinds = kKinds;
  }
  fields->refuse_unknown();
}

}  // namespace attnscope
