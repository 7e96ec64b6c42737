#include "attnscope/model/layout/layout_attention.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace attnscope {
namespace {

using nlohmann::json;

/// The type of each layer, as config.json lists them.
json kinds_of_indexers(const LayoutFields& fields, const json& shared, std::int64_t layers) {
  if (!shared.is_array()) fields.fail("'shared_layers' is not a list of layers");
  json kinds(static_cast<std::size_t>(layers), "full");
  for (const json& layer : shared) {
    const bool is_layer = layer.is_number_unsigned() &&
                          layer.get<std::uint64_t>() < static_cast<std::uint64_t>(layers);
    if (!is_layer) {
      fields.fail("'shared_layers' contains a value that is not a layer from 0 to " +
                  std::to_string(layers - 1));
    }
    kinds[layer.get<std::size_t>()] = "shared";
  }
  return kinds;
}

/// Reads the object `indexer`, if there is one. The latents of `spec` must be set.
void parse_indexer(LayoutFields& attention, ModelSpec& spec, json& config) {
  constexpr const char* kKinds = "indexer_types";
  auto fields = attention.object("indexer");
  if (!fields) return;
  if (!spec.dimensions.mla || spec.dimensions.mla->query == 0) {
    fields->fail("requires a 'latent' with a 'q_lora_rank'");
  }
  const ScoreRule& scores = spec.architecture.scores;
  if (scores.alibi || scores.buckets || scores.disentangled) {
    attention.fail("combines an 'indexer' with 'alibi', 'buckets' or 'disentangled'");
  }
  IndexerRule& rule = spec.architecture.indexer.emplace();
  rule.kept = {"", fields->required_number("kept")};
  rule.heads = {"", fields->required_number("heads")};
  rule.head_dim = {"", fields->required_number("head_dim")};
  rule.neighbors = fields->choice<bool>("pairs", {{"halves", false}, {"neighbors", true}});
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

Alibi parse_alibi(LayoutFields& attention) {
  enum class Kind { usual, larger_power, bfloat16 };
  const auto kind = attention.choice<Kind>(
      "alibi",
      {{"usual", Kind::usual}, {"larger_power", Kind::larger_power}, {"bfloat16", Kind::bfloat16}});
  return {.of_larger_power = kind == Kind::larger_power, .in_bfloat16 = kind == Kind::bfloat16};
}

BucketRule parse_buckets(LayoutFields fields) {
  const BucketBias standard;
  const std::int64_t count = fields.number("count", /*least=*/4).value_or(standard.count);
  const std::int64_t distant = fields.number("distant").value_or(standard.distant);
  if (distant <= count / 2) fields.fail("'distant' is not more than half of 'count'");
  const BucketRule buckets{fields.required_text("table"), {"", count}, {"", distant}};
  fields.refuse_unknown();
  return buckets;
}

DisentangledRule parse_disentangled(LayoutFields fields, json& config) {
  constexpr const char* kKinds = "kinds";
  DisentangledRule rule{.kinds_key = kKinds,
                        .table = fields.required_text("table"),
                        .norm = fields.text("norm"),
                        .buckets = {"", fields.number("buckets")},
                        .distant = {"", fields.number("distant")},
                        .query = fields.text("query"),
                        .key = fields.text("key")};
  rule.shared = {"", rule.query.empty() && rule.key.empty()};
  const auto has = [&](const char* kind) {
    const json* kinds = fields.find(kKinds);
    if (kinds == nullptr) return true;
    if (!kinds->is_array()) fields.fail("'kinds' is not a list");
    return std::find(kinds->begin(), kinds->end(), kind) != kinds->end();
  };
  json kinds = json::array();
  for (const auto& [kind, projection] : {std::pair("c2p", &rule.key), {"p2c", &rule.query}}) {
    if (!has(kind)) continue;
    kinds.push_back(kind);
    if (!rule.shared.fallback && projection->empty()) {
      fields.fail(std::string("'") + kind + "' requires a '" +
                  (projection == &rule.key ? "key'" : "query'"));
    }
  }
  const json* listed = fields.find(kKinds);
  if (kinds.empty() || (listed != nullptr && listed->size() != kinds.size())) {
    fields.fail("'kinds' is not a list of \"c2p\" and \"p2c\"");
  }
  config[kKinds] = std::move(kinds);
  fields.refuse_unknown();
  return rule;
}

/// Position biases, sinks and the clipping of queries, keys and values.
void parse_scores(LayoutFields& attention, ModelSpec& spec, json& config) {
  ScoreRule& scores = spec.architecture.scores;
  scores.clip = {"", attention.positive("clip")};
  scores.sinks = attention.text("sinks");
  int kinds = 0;
  if (attention.find("alibi") != nullptr) {
    scores.alibi = parse_alibi(attention);
    ++kinds;
  }
  if (const auto buckets = attention.object("buckets")) {
    scores.buckets = parse_buckets(*buckets);
    ++kinds;
  }
  if (const auto disentangled = attention.object("disentangled")) {
    scores.disentangled = parse_disentangled(*disentangled, config);
    if (spec.architecture.causal.fallback) {
      attention.fail("'disentangled' requires 'causal' to be false");
    }
    ++kinds;
  }
  if (kinds > 1) attention.fail("has more than one of 'alibi', 'buckets' and 'disentangled'");
}

/// One number per layer: 1 if the list contains it, otherwise 0.
json listed_layers(const LayoutFields& fields, const json& list, std::int64_t layers) {
  if (!list.is_array()) fields.fail("'layers' is not a list of layers");
  json marks(static_cast<std::size_t>(layers), 0);
  for (const json& layer : list) {
    const bool is_number = layer.is_number_unsigned();
    if (!is_number || layer.get<std::uint64_t>() >= static_cast<std::uint64_t>(layers)) {
      fields.fail("'layers' contains a value that is not a layer from 0 to " +
                  std::to_string(layers - 1));
    }
    marks[layer.get<std::size_t>()] = 1;
  }
  return marks;
}

/// Writes the layers with a sliding window into `config`, in the form of a config.json.
WindowRule parse_window(LayoutFields fields, std::int64_t layers, json& config) {
  const WindowRule window{.size = {"", fields.required_number("size")},
                          .chunked = fields.flag("chunked", false),
                          .reads_layer_types = true};
  const json* listed = fields.find("layers");
  fields.refuse_unknown();
  if (listed == nullptr) return window;
  json kinds = json::array();
  for (const json& windowed : listed_layers(fields, *listed, layers)) {
    const char* narrow = window.chunked ? "chunked_attention" : "sliding_attention";
    kinds.push_back(windowed == 1 ? narrow : "full_attention");
  }
  config["layer_types"] = std::move(kinds);
  return window;
}

/// Fields of rope_parameters in config.json, which resolve_layers() reads and checks.
constexpr std::array kScalingFields = {
    "rope_type",       "factor",           "original_max_position_embeddings",
    "low_freq_factor", "high_freq_factor", "beta_fast",
    "beta_slow",       "truncate",         "mscale",
    "mscale_all_dim",  "attention_factor", "short_factor",
    "long_factor",     "short_mscale",     "long_mscale"};

}  // namespace

void parse_layout_mla(LayoutFields& fields, ModelSpec& spec) {
  auto own = fields.object("latent");
  if (!own) return;
  HeadShape& heads = spec.dimensions.heads;
  if (heads.kv_heads != heads.heads) own->fail("requires as many 'kv_heads' as 'heads'");
  spec.dimensions.mla = MlaRanks{.query = own->number("q_lora_rank").value_or(0),
                                 .key_value = own->required_number("kv_lora_rank")};
  heads.shared_key_dim = own->number("rotary_dim", /*least=*/0).value_or(0);
  if (heads.shared_key_dim % 2 != 0 || heads.shared_key_dim >= heads.head_dim) {
    own->fail("'rotary_dim' is not an even number below 'head_dim'");
  }
  MlaRule& rule = spec.architecture.mla.emplace();
  rule.query_norm = own->text("query_norm");
  rule.norm = own->text("norm");
  rule.epsilon = own->not_negative("epsilon").value_or(rule.epsilon);
  own->refuse_unknown();
}

void check_layout_mla(const LayoutFields& fields, const ModelSpec& spec) {
  const auto& latent = spec.dimensions.mla;
  const bool of_queries = latent && latent->query > 0;
  for (const WeightRule& rule : spec.architecture.weights) {
    const std::string role = '\'' + std::string(role_name(rule.role)) + '\'';
    switch (rule.role) {
      case Role::query:
        if (of_queries) fields.fail(role + " is computed from a latent");
        break;
      case Role::key:
      case Role::value:
        if (latent) fields.fail(role + " is computed from a latent");
        break;
      case Role::query_down:
      case Role::query_up:
        if (!of_queries) fields.fail(role + " requires a 'latent' with a 'q_lora_rank'");
        break;
      case Role::kv_down:
      case Role::kv_up:
        if (!latent) fields.fail(role + " requires a 'latent'");
        break;
      default: break;
    }
  }
}

void parse_layout_attention(LayoutFields fields, ModelSpec& spec, json& config) {
  spec.architecture.scores = {.scale = constant(fields.positive("scale")),
                              .by_layer = {"", fields.flag("by_layer", false)},
                              .soft_cap = constant(fields.positive("soft_cap"))};
  if (auto temperature = fields.object("temperature")) {
    spec.architecture.scores.temperature = {
        .growth = constant(temperature->positive("growth")),
        .period = {"", temperature->required_number("period")},
        .first = temperature->number("first", /*least=*/0).value_or(0),
        .unrotated_only = temperature->flag("unrotated_only", false)};
    temperature->refuse_unknown();
  }
  parse_scores(fields, spec, config);
  parse_indexer(fields, spec, config);
  if (const auto window = fields.object("window")) {
    spec.architecture.window = parse_window(*window, spec.dimensions.layers, config);
  }
  fields.refuse_unknown();
}

RopeRule parse_layout_rope(LayoutFields fields, const Dimensions& dimensions, json& config) {
  RopeRule rope{.theta_key = ""};
  rope.theta = fields.positive("theta").value_or(rope.theta);
  rope.fraction = fields.positive("fraction").value_or(rope.fraction);
  if (rope.fraction > 1) fields.fail("'fraction' is more than 1");
  rope.half_truncated = fields.flag("half_truncated", false);
  rope.gains_by_length = fields.flag("gains_by_length", false);
  if (const auto local = fields.positive("local_theta")) {
    rope.local_theta_key = "local_theta";
    rope.local_theta = *local;
  }
  rope.dimensions = {"", fields.number("dimensions")};
  if (rope.dimensions.fallback.value_or(0) > dimensions.heads.head_dim) {
    fields.fail("'dimensions' exceeds the head dimension");
  }
  rope.neighbors = {"", fields.choice<bool>("pairs", {{"halves", false}, {"neighbors", true}})};
  if (const json* list = fields.find("layers")) {
    config["rotated_layers"] = listed_layers(fields, *list, dimensions.layers);
    rope.layers = RotatedLayers::listed;
    rope.layer_list = "rotated_layers";
    rope.interval = {"", 1};
  }
  const json* found = fields.find("scaling");
  if (auto scaling = fields.object("scaling")) {
    for (const char* key : kScalingFields) scaling->find(key);
    scaling->required_text("rope_type");
    scaling->refuse_unknown();
    config["rope_parameters"] = *found;
  }
  fields.refuse_unknown();
  return rope;
}

}  // namespace attnscope
