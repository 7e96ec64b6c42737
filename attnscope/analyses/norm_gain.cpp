#include "attnscope/analyses/norm_gain.h"

#include <utility>

#include "attnscope/run/item_inputs.h"

namespace attnscope {
namespace {

Read<Gain> gain_of(const Model& model, const NormSpec& norm, const Site& site, std::int64_t size) {
  if (!site.missing.empty()) return {{}, site.missing};
  if (site.tensor == nullptr) return {};
  const auto read =
      read_weight_float64(model, {.tensor = site.tensor, .matrix = as_row(*site.tensor, size)});
  if (!read.skipped.empty()) return {{}, read.skipped};
  Gain gain;
  for (std::int64_t col = 0; col < size; ++col) {
    gain.push_back(norm.gain_offset + read.values(0, col));
  }
  return {std::move(gain), ""};
}

}  // namespace

Read<Gain> read_gain(const Model& model, const NormSpec& norm, std::int64_t layer,
                     std::int64_t size) {
  return gain_of(model, norm, model.norm_gain(norm, layer, {size}), size);
}

Read<std::optional<Gain>> read_input_gain(const Model& model, std::int64_t layer) {
  const auto [norm, site] = model.input_norm(layer);
  if (!norm) return {};
  auto read = gain_of(model, *norm, site, model.dimensions().width);
  if (!read.skipped.empty()) return {{}, "the norm before it: " + read.skipped};
  if (read.values.empty()) return {};
  return {std::move(read.values), ""};
}

}  // namespace attnscope
