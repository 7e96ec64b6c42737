#include "attnscope/model/layout_scores.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace attnscope {
namespace {

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
  if (distant <= count / 2) fields.fail("'distant' is no more than half of 'count'");
  const BucketRule buckets{fields.required_text("table"), {"", count}, {"", distant}};
  fields.refuse_unknown();
  return buckets;
}

DisentangledRule parse_disentangled(LayoutFields fields, nlohmann::json& config) {
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
    const nlohmann::json* kinds = fields.find(kKinds);
    if (kinds == nullptr) return true;
    if (!kinds->is_array()) fields.fail("'kinds' is not a list");
    return std::find(kinds->begin(), kinds->end(), kind) != kinds->end();
  };
  nlohmann::json kinds = nlohmann::json::array();
  for (const auto& [kind, projection] : {std::pair("c2p", &rule.key), {"p2c", &rule.query}}) {
    if (!has(kind)) continue;
    kinds.push_back(kind);
    if (!rule.shared.fallback && projection->empty()) {
      fields.fail(std::string("'") + kind + "' needs a '" +
                  (projection == &rule.key ? "key'" : "query'"));
    }
  }
  const nlohmann::json* listed = fields.find(kKinds);
  if (kinds.empty() || (listed != nullptr && listed->size() != kinds.size())) {
    fields.fail("'kinds' is not a list of \"c2p\" and \"p2c\"");
  }
  config[kKinds] = std::move(kinds);
  fields.refuse_unknown();
  return rule;
}

}  // namespace

void parse_layout_scores(LayoutFields& attention, ModelSpec& spec, nlohmann::json& config) {
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
      attention.fail("'disentangled' is of models whose 'causal' is false");
    }
    ++kinds;
  }
  if (kinds > 1) attention.fail("gives more than one of 'alibi', 'buckets' and 'disentangled'");
}

}  // namespace attnscope
