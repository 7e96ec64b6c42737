#include "attnscope/model/config/daisy_config.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace attnscope {
namespace {

/// The second half of the middle layers each take up the output of one before them. The number of a
/// layer's skip weight is that of the layer it comes from.
std::vector<std::optional<std::int64_t>> daisy_skips(std::int64_t layers) {
  std::vector<std::optional<std::int64_t>> from(static_cast<std::size_t>(layers));
  const std::int64_t count = std::max<std::int64_t>(1, layers / 8);
  const std::int64_t middle = layers / 2;
  const std::int64_t gap = std::max<std::int64_t>(1, layers / (2 * (count + 1)));
  for (std::int64_t step = 1; step <= count; ++step) {
    const std::int64_t layer = middle - count + step - 1, source = layer - step * gap;
    if (source >= 0 && source < layer) from[static_cast<std::size_t>(layer)] = source;
  }
  return from;
}

}  // namespace

/// Where each of daisy's numbers stands in its tensor of 5 L: L weights of skips, two of each
/// layer's input, two of its values.
void set_daisy(std::vector<LayerSpec>& specs, const DaisyRule& rule) {
  const auto layers = std::ssize(specs);
  const auto skips = daisy_skips(layers);
  constexpr std::int64_t kTables = 3;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    LayerSpec& spec = specs[static_cast<std::size_t>(layer)];
    const auto scalar = [&](std::int64_t index) { return ScalarSite{rule.scalars, index}; };
    const auto skip_from = skips[static_cast<std::size_t>(layer)];
    spec.input = LayerInputSpec{.skip_from = skip_from,
                                .skip = scalar(skip_from.value_or(0)),
                                .of_stream = scalar(layers + 2 * layer),
                                .of_embedding = scalar(layers + 2 * layer + 1)};
    std::optional<std::int64_t> table;  // the first layers have one each, and so have the last
    const std::int64_t last = std::max(layers - kTables, kTables);
    if (layer < kTables) table = layer;
    if (layer >= last) table = layer - last;
    std::string name;
    if (table) {
      name = rule.value_tables;
      name.replace(name.find('*'), 1, std::to_string(*table));
    }
    spec.attention.value_embedding =
        ValueEmbeddingSpec{.of_value = scalar(3 * layers + 2 * layer),
                           .of_table = scalar(3 * layers + 2 * layer + 1),
                           .table = name};
  }
}

}  // namespace attnscope
