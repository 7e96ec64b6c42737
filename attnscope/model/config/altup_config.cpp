#include "attnscope/model/config/altup_config.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <string>
#include <vector>

#include "attnscope/base/text.h"
#include "attnscope/model/config/embedding_and_norm_config.h"

namespace attnscope {
namespace {

/// The number of streams is small; a limit keeps their products far below the 64-bit limit.
constexpr std::int64_t kMaxStreams = 64;

/// Returns z with Φ(z) = share, the quantile of the standard normal distribution.
double normal_quantile(double share) {
  double low = -40, high = 40;
  for (int step = 0; step < 100; ++step) {
    const double middle = (low + high) / 2;
    const bool below = std::erfc(-middle / std::numbers::sqrt2) / 2 < share;
    (below ? low : high) = middle;
  }
  return (low + high) / 2;
}

std::vector<double> gate_sparsity(const std::string& key, const ConfigReader& config,
                                  std::size_t layers) {
  constexpr std::size_t kSparseLayers = 10;
  constexpr double kUsual = 0.95;
  std::vector<double> shares(layers, 0.0);
  const nlohmann::json* found = config.find(key);
  if (found == nullptr) {
    for (std::size_t at = 0; layers > kSparseLayers && at < kSparseLayers; ++at)
      shares[at] = kUsual;
    return shares;
  }
  const bool fits = found->is_array() && found->size() >= layers;
  if (!fits) config.refuse("'" + key + "' is not a list with " + counted(layers, "number"));
  for (std::size_t layer = 0; layer < layers; ++layer) {
    const nlohmann::json& value = (*found)[layer];
    if (value.is_number()) shares[layer] = value.get<double>();
    if (!value.is_number() || !(shares[layer] >= 0 && shares[layer] < 1)) {
      config.refuse("'" + key + "' of layer " + std::to_string(layer) +
                    " is not a share from 0 to below 1");
    }
  }
  return shares;
}

}  // namespace

void read_altup(ModelSpec& spec, const ConfigReader& config) {
  const Architecture& architecture = spec.architecture;
  const NormRule& norms = *architecture.norm;
  if (!architecture.gate_sparsity_key.empty()) {
    const std::vector<double> shares =
        gate_sparsity(architecture.gate_sparsity_key, config, spec.layers.size());
    for (std::size_t layer = 0; layer < shares.size(); ++layer) {
      if (shares[layer] > 0) spec.layers[layer].gate_cutoff = normal_quantile(shares[layer]);
    }
  }
  if (architecture.laurel) {
    const LaurelRule& rule = *architecture.laurel;
    const LaurelSpec laurel{.rank = config.required(rule.rank),
                            .left = rule.left,
                            .right = rule.right,
                            .norm = norm_named(norms, config, rule.norm)};
    for (LayerSpec& layer : spec.layers) layer.laurel = laurel;
  }
  if (!architecture.altup) return;
  const AltUpRule& rule = *architecture.altup;
  const std::int64_t streams = config.required(rule.streams);
  const std::int64_t active = config.number(rule.active, /*least=*/0).value_or(0);
  if (streams > kMaxStreams) {
    config.refuse("'" + rule.streams.name + "' is " + std::to_string(streams) +
                  ", above the limit of " + std::to_string(kMaxStreams));
  }
  if (active >= streams) {
    config.refuse("'" + rule.active.name + "' is " + std::to_string(active) + ", expected 0 to " +
                  std::to_string(streams - 1));
  }
  spec.stream.altup =
      AltUpSpec{.streams = streams,
                .active = active,
                .scaled = config.flag(rule.scaled),
                .place = rule.place,
                .projection = rule.projection,
                .last_projection = rule.last_projection,
                .router_norm = norm_named(norms, config, rule.place + ".router_norm")};
}

}  // namespace attnscope
