#include "attnscope/model/config/position_bias_config.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "attnscope/base/text.h"

namespace attnscope {
namespace {

/// Used if neither the file nor its architecture specifies the context length.
constexpr std::int64_t kUsualDistance = 512;

/// A text that contains several names, or a list of names.
bool names(const ConfigReader& config, const std::string& key, const std::string& name) {
  const nlohmann::json* found = config.find(key);
  if (found == nullptr) return false;
  if (found->is_string()) return config.text(key).find(name) != std::string::npos;
  const std::vector<std::string> listed = config.texts(key);
  return std::find(listed.begin(), listed.end(), name) != listed.end();
}

/// Returns the number, or 0 if it is not positive: -1 means unset.
std::int64_t positive_or_0(const ConfigReader& config, const ConfigKey& key) {
  constexpr std::int64_t kUnset = -1;
  return std::max<std::int64_t>(config.number(key, kUnset).value_or(0), 0);
}

/// Returns why the terms are not supported; empty if they are. Source: transformers,
/// modeling_deberta_v2.py, DisentangledSelfAttention and DebertaV2Encoder.get_rel_embedding().
std::string set_disentangled(AttentionSpec& spec, const Architecture& architecture,
                             const ConfigReader& config, const Dimensions& dimensions) {
  const DisentangledRule& rule = *architecture.scores.disentangled;
  DisentangledSpec out{.content_to_position = names(config, rule.kinds_key, "c2p"),
                       .position_to_content = names(config, rule.kinds_key, "p2c"),
                       .table = rule.table,
                       .buckets = positive_or_0(config, rule.buckets),
                       .distant = positive_or_0(config, rule.distant),
                       .shared = config.flag(rule.shared),
                       .query = rule.query,
                       .key = rule.key};
  // The scale is the same whether or not the terms are added.
  spec.scale /=
      std::sqrt(1.0 + (out.content_to_position ? 1 : 0) + (out.position_to_content ? 1 : 0));
  if (!config.flag(rule.enabled)) return "";
  if (!out.content_to_position && !out.position_to_content) return "";
  if (out.distant == 0) out.distant = dimensions.context.value_or(kUsualDistance);
  out.span = out.buckets > 0 ? out.buckets : out.distant;
  if (out.buckets == 1 || (out.buckets > 0 && out.distant <= out.buckets / 2 + 1)) {
    return counted(out.buckets, "bucket") + " for distances up to " + std::to_string(out.distant) +
           " leave none for ranges of distances";
  }
  const bool normed =
      !rule.norm.empty() && (rule.norm_key.empty() || names(config, rule.norm_key, "layer_norm"));
  if (normed) {
    const NormRule& norms = *architecture.norm;
    out.norm = NormSpec{
        .kind = norms.kind, .epsilon = config.real(norms.epsilon).value_or(0), .tensor = rule.norm};
  }
  spec.disentangled = std::move(out);
  return "";
}

/// Queries and keys become vectors of length √d, so that their product is d times the cosine.
void set_cosine(AttentionSpec& spec, const ScoreRule& rule, const Dimensions& dimensions) {
  const auto size = static_cast<double>(dimensions.heads.head_dim);
  // torch's normalize() divides by at least 1e-12.
  constexpr double kLeastSquare = 1e-24;
  const NormSpec unit{.kind = NormKind::rms, .epsilon = kLeastSquare / size};
  spec.query_norm = spec.key_norm = unit;
  spec.cosine_scales = rule.cosine_scales;
  spec.scale = 1 / size;
}

}  // namespace

std::string set_score_biases(AttentionSpec& spec, const Architecture& architecture,
                             const ConfigReader& config, const Dimensions& dimensions) {
  const ScoreRule& rule = architecture.scores;
  spec.alibi = rule.alibi;
  spec.sinks = rule.sinks;
  spec.grid = rule.grid;
  if (rule.distances) {
    spec.distances = DistanceBias{.table = rule.distances->table,
                                  .before = config.number(rule.distances->before, 0).value_or(0),
                                  .after = config.number(rule.distances->after, 0).value_or(0)};
  }
  if (rule.axes && config.flag(rule.has_axes)) spec.axes = rule.axes;
  if (!rule.cosine_scales.empty()) set_cosine(spec, rule, dimensions);
  const double clip = config.real(rule.clip).value_or(0);
  if (clip > 0) spec.clip = clip;
  if (rule.relative) {
    spec.relative = RelativeWaveSpec{.projection = rule.relative->projection,
                                     .content_bias = rule.relative->content_bias,
                                     .position_bias = rule.relative->position_bias};
    const std::int64_t clamp = positive_or_0(config, rule.relative->clamp);
    if (clamp > 0) spec.relative->clamp = clamp;
  }
  if (rule.buckets && config.flag(rule.buckets->enabled)) {
    spec.buckets = BucketBias{.table = rule.buckets->table,
                              .count = config.required(rule.buckets->count),
                              .distant = config.required(rule.buckets->distant),
                              .by_head = rule.buckets->by_head,
                              .scaled = rule.buckets->scaled,
                              .gate = rule.buckets->gate};
    if (spec.buckets->count < 4 || spec.buckets->distant <= spec.buckets->count / 2) {
      return counted(spec.buckets->count, "bucket") + " for distances up to " +
             std::to_string(spec.buckets->distant) + " are too few";
    }
  }
  return rule.disentangled ? set_disentangled(spec, architecture, config, dimensions) : "";
}

}  // namespace attnscope
