#include "attnscope/analysis/value_pass.h"

#include <algorithm>
#include <utility>

#include "attnscope/analysis/distribution.h"

namespace attnscope {
namespace {

/// Enough to tell where quantiles lie, little beside the values themselves.
std::int64_t sample_size(std::int64_t count) {
  return std::clamp<std::int64_t>(count / 32, 4096, 65536);
}

/// What is learned of one source in the first pass.
class FirstPass {
 public:
  FirstPass(std::vector<double> sample, std::int64_t count, const std::optional<BinRule>& bins,
            double margin)
      : moments_(sample), quantiles_(sample, kQuantiles, count, margin) {
    if (bins && bins->freedman_diaconis) spread_.emplace(*bins, sample, count, margin);
  }

  void add(std::span<const double> values) {
    moments_.add(values);
    if (!moments_.all_finite()) return;
    quantiles_.add(values);
    if (spread_) spread_->add(values);
  }

  bool all_finite() const { return moments_.all_finite(); }

  /// The fields but for the histogram, and its bins; false where the sample was misleading.
  bool finish(Record& fields, Bins& chosen, const std::optional<BinRule>& bins) {
    std::vector<double> quantiles;
    for (const double fraction : kQuantiles) {
      const auto found = quantiles_.quantile(fraction);
      if (!found) return false;
      quantiles.push_back(*found);
    }
    const Moments moments = moments_.moments();
    std::optional<Spread> spread =
        Spread{.count = moments.count, .min = moments.min, .max = moments.max};
    if (spread_) spread = spread_->spread();
    if (!spread) return false;
    add_distribution_fields(fields, moments, quantiles);
    if (bins) chosen = choose_bins(*bins, *spread);
    return true;
  }

 private:
  MomentSums moments_;
  QuantileSearch quantiles_;
  std::optional<SpreadSearch> spread_;
};

FirstPass first_pass(const ValueStream& source, const std::optional<BinRule>& bins, double margin) {
  std::vector<double> sample = source.sample(sample_size(source.count));
  std::erase_if(sample, [](double value) { return value - value != 0; });  // NaN and Inf
  return FirstPass(std::move(sample), source.count, bins, margin);
}

}  // namespace

std::optional<std::vector<ValueCount>> counted_values(std::span<const std::int64_t> counts,
                                                      std::span<const double> values,
                                                      std::span<const std::uint32_t> ascending) {
  std::int64_t total = 0, finite = 0;
  for (const std::int64_t count : counts) total += count;
  for (const std::uint32_t pattern : ascending) finite += counts[pattern];
  if (finite != total) return std::nullopt;
  std::vector<ValueCount> out;
  for (const std::uint32_t pattern : ascending) {
    if (counts[pattern] == 0) continue;
    const double value = values[pattern] + 0.0;  // -0 becomes 0
    if (!out.empty() && out.back().value == value) {
      out.back().count += counts[pattern];
    } else {
      out.push_back({value, counts[pattern]});
    }
  }
  return out;
}

Distribution counted_distribution(std::span<const ValueCount> ascending,
                                  const std::optional<BinRule>& bins) {
  Distribution out;
  add_distribution_fields(out.fields, moments_of(ascending), quantiles_of(ascending, kQuantiles));
  if (!bins) return out;
  const Bins chosen = choose_bins(*bins, spread_of(ascending, *bins));
  out.note = chosen.note;
  Value record;
  if (!chosen.edges.empty()) {
    Histogram histogram(chosen.edges);
    for (const ValueCount& entry : ascending) histogram.add(entry.value, entry.count);
    record = Value(histogram.record());
  }
  out.fields.add("histogram", std::move(record));
  return out;
}

std::vector<Distribution> streamed_distributions(const ValueStream& whole,
                                                 std::span<const ValueStream> parts,
                                                 const std::optional<BinRule>& bins) {
  std::vector<const ValueStream*> sources = {&whole};
  for (const ValueStream& part : parts) sources.push_back(&part);
  const std::size_t first_read = parts.empty() ? 0 : 1;  // parts are read for the whole too
  std::vector<FirstPass> passes;
  for (const ValueStream* source : sources) {
    passes.push_back(first_pass(*source, bins, kFirstMargin));
  }
  for (std::size_t index = first_read; index < sources.size(); ++index) {
    sources[index]->visit([&](std::span<const double> values) {
      passes[index].add(values);
      if (index > 0) passes[0].add(values);
    });
  }

  std::vector<Distribution> out(sources.size());
  std::vector<std::optional<Histogram>> histograms(sources.size());
  for (std::size_t index = 0; index < sources.size(); ++index) {
    out[index].all_finite = passes[index].all_finite();
    if (!out[index].all_finite) continue;
    Bins chosen;
    for (double margin = kFirstMargin; !passes[index].finish(out[index].fields, chosen, bins);) {
      margin *= 8;
      passes[index] = first_pass(*sources[index], bins, margin);
      sources[index]->visit([&](std::span<const double> values) { passes[index].add(values); });
    }
    out[index].note = chosen.note;
    if (!chosen.edges.empty()) histograms[index].emplace(std::move(chosen.edges));
  }
  if (!bins) return out;

  for (std::size_t index = first_read; index < sources.size(); ++index) {
    sources[index]->visit([&](std::span<const double> values) {
      if (histograms[index]) histograms[index]->add(values);
      if (index > 0 && histograms[0]) histograms[0]->add(values);
    });
  }
  for (std::size_t index = 0; index < sources.size(); ++index) {
    if (!out[index].all_finite) continue;
    out[index].fields.add("histogram",
                          histograms[index] ? Value(histograms[index]->record()) : Value());
  }
  return out;
}

}  // namespace attnscope
