// The distribution of values that are counted, or seen in passes over where they lie; of a whole
// and of the parts that make it up.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/analysis/histogram.h"
#include "attnscope/analysis/quantiles.h"
#include "attnscope/results/record.h"

namespace attnscope {

/// What a weights row tells after its ids.
struct Distribution {
  bool all_finite = true;  // else there is nothing more
  Record fields;           // moments, quantiles and, where bins were asked for, the histogram
  std::string note;        // what was not done as asked, and why
};

/// The values that bit patterns stand for and how often each occurs, ascending, −0 counted as 0.
/// `counts` and `values` by pattern; `ascending`: the patterns of finite values, by value. Nothing
/// where another pattern occurs.
std::optional<std::vector<ValueCount>> counted_values(std::span<const std::int64_t> counts,
                                                      std::span<const double> values,
                                                      std::span<const std::uint32_t> ascending);

/// Of counted values, at least one. No `bins`: no histogram.
Distribution counted_distribution(std::span<const ValueCount> ascending,
                                  const std::optional<BinRule>& bins);

using ValueVisitor = std::function<void(std::span<const double>)>;

/// Values that can be seen again and again, in blocks; any of them may be NaN or Inf.
struct ValueStream {
  std::int64_t count = 0;  // at least 1
  std::function<void(const ValueVisitor&)> visit;
  /// About that many of them, spread over all: by them the first pass knows where quantiles lie.
  std::function<std::vector<double>(std::int64_t wanted)> sample;
};

/// Of `whole`, then of each of `parts`, which together are the whole and are read once for both; of
/// the whole alone where there are none. A pass for moments and quantiles, which is repeated where
/// a sample misled, then one for the histogram.
std::vector<Distribution> streamed_distributions(const ValueStream& whole,
                                                 std::span<const ValueStream> parts,
                                                 const std::optional<BinRule>& bins);

}  // namespace attnscope
