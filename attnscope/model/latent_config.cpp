#include "attnscope/model/latent_config.h"

#include <string>

#include "attnscope/core/wording.h"

namespace attnscope {

void read_latent(const LatentRule& rule, const ConfigReader& config, Dimensions& dimensions) {
  HeadShape& heads = dimensions.heads;
  heads.kv_heads = heads.heads;
  // 0: all of a key turns, as `shrink` writes latents of little cache.
  const auto given = config.number(rule.plain_dim, /*least=*/0);
  const std::int64_t plain = given ? *given : config.required(rule.plain_dim);
  heads.shared_key_dim = config.required(rule.rotary_dim);
  heads.head_dim = plain + heads.shared_key_dim;
  if (heads.shared_key_dim % 2 != 0) {
    config.refuse("'" + rule.rotary_dim.name + "' is " + std::to_string(heads.shared_key_dim) +
                  ", and dimensions turn in pairs");
  }
  const auto value = config.number(rule.value_dim);
  if (!value && dimensions.width % heads.heads != 0) {
    config.refuse("width " + std::to_string(dimensions.width) + " is no multiple of " +
                  counted(heads.heads, "head") + ", and '" + rule.value_dim.name +
                  "' is not given");
  }
  heads.value_dim = value.value_or(dimensions.width / heads.heads);
  dimensions.latent = LatentRanks{.query = config.number(rule.query_rank).value_or(0),
                                  .key_value = config.required(rule.rank)};
}

void keep_latent_weights(ModelSpec& spec) {
  if (!spec.dimensions.latent) return;
  const bool has_latent = spec.dimensions.latent->query > 0;
  std::erase_if(spec.architecture.weights, [&](const WeightRule& rule) {
    const bool of_latent = rule.role == Role::query_down || rule.role == Role::query_up;
    return has_latent ? rule.role == Role::query : of_latent;
  });
}

LatentSpec latent_norms(const LatentRule& rule, const Dimensions& dimensions) {
  const auto norm = [&](const std::string& tensor) {
    return NormSpec{.kind = NormKind::rms, .epsilon = rule.epsilon, .tensor = tensor};
  };
  LatentSpec out{.norm = norm(rule.norm)};
  if (dimensions.latent->query > 0) out.query_norm = norm(rule.query_norm);
  return out;
}

}  // namespace attnscope
