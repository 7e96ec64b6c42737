#include "attnscope/analyses/given_outcomes.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

#include "attnscope/analyses/attention_outcomes.h"

namespace attnscope {
namespace {

/// Maps that are decoded together, at least kLeastTogether.
constexpr std::int64_t kDecodedBytes = std::int64_t{64} << 20, kLeastTogether = 8;

struct Measured {
  std::vector<std::vector<AttentionMapMeasures>> of_sequences;
  std::optional<SeenKeys> seen;

  void see(const SeenKeys& keys) {
    if (seen) {
      seen->add(keys);
    } else {
      seen = keys;
    }
  }
};

Measured measure_all(const GivenMaps& given, AttentionMapOptions options, const Compute& compute) {
  Measured out;
  for (std::int64_t sequence = 0; sequence < given.sequences(); ++sequence) {
    const std::int64_t bytes =
        given.query_count(sequence) * given.key_count(sequence) * std::int64_t{sizeof(float)};
    const std::int64_t together = std::max(kLeastTogether, kDecodedBytes / bytes);
    auto& measures = out.of_sequences.emplace_back();
    for (std::int64_t head = 0; head < given.heads(); head += together) {
      const std::int64_t count = std::min(together, given.heads() - head);
      const FloatMaps maps = float_maps(given, sequence, head, count, compute);
      options.causal = !given.cross && maps.seen.after == 0;
      auto measured = measure_attention_maps(maps.maps, options, compute);
      std::move(measured.begin(), measured.end(), std::back_inserter(measures));
      out.see(maps.seen);
    }
  }
  return out;
}

EvenAttention even_of(const GivenMaps& given, std::int64_t sequence, const SeenKeys& seen) {
  const std::int64_t queries = given.query_count(sequence), keys = given.key_count(sequence);
  if (given.cross) {
    return {.tokens = keys, .mask = AttentionMask::bidirectional(), .queries = queries};
  }
  return {.tokens = keys, .mask = seen.mask(keys)};
}

}  // namespace

std::vector<Outcome> measure_given(const GivenMaps& given, AttentionMapOptions options,
                                   const Compute& compute) {
  static const std::size_t unattended = map_measure_index("unattended");
  options.across = given.cross;
  Measured measured = measure_all(given, options, compute);
  const SeenKeys seen = measured.seen.value_or(SeenKeys());
  std::vector<Outcome> outcomes;
  for (std::int64_t first = 0, end = 0; first < given.sequences(); first = end) {
    std::vector<AttentionMapMeasures> run;
    const auto is_alike = [&](std::int64_t sequence) {
      return given.query_count(sequence) == given.query_count(first) &&
             given.key_count(sequence) == given.key_count(first);
    };
    for (; end < given.sequences() && is_alike(end); ++end) {
      for (AttentionMapMeasures& map : measured.of_sequences[static_cast<std::size_t>(end)]) {
        // Without sinks, what is missing from 1 is the rounding of the weights' type.
        if (!given.sinks) map.values[unattended] = 0;
        run.push_back(std::move(map));
      }
    }
    outcomes.push_back(
        attention_outcome(given.layer, given.heads(), run, even_of(given, first, seen), options));
    outcomes.back().fields.add("causal", !given.cross && seen.after == 0);
  }
  return outcomes;
}

}  // namespace attnscope
