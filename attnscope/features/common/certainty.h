// Certainty of means and shares over prompts: p-values, bootstrap intervals, and significance among
// all tests of a model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attnscope/numerics/statistics/significance.h"
#include "attnscope/rows/record.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// Of one measure of one row. Empty: not measured.
struct Certainty {
  std::optional<double> p_value;              // sign-flip test of the changes
  std::optional<BootstrapInterval> interval;  // bootstrap interval of Σ changes / Σ wholes
};

/// `changes`: per prompt; empty: not measured. `wholes`: of which the measure is a share, per
/// prompt; empty: there are no shares. `groups`: see sign_flip_p_value().
Certainty certainty_of(const std::vector<double>& changes, const std::vector<double>& wholes,
                       const std::vector<std::int64_t>& groups);

/// Bootstrap interval of the mean over prompts.
std::optional<BootstrapInterval> interval_of_mean(const std::vector<double>& values,
                                                  const std::vector<std::int64_t>& groups);

/// Adds "NAME_low" and "NAME_high"; null without an interval.
void add_interval(Record& row, const std::string& name,
                  const std::optional<BootstrapInterval>& interval);

/// A measure whose significance is tested among those of all rows. Fields: INTERVAL_low,
/// INTERVAL_high, TEST_p_value, TEST_significant.
struct TestedMeasure {
  std::string interval, test;
};

/// The measure of share_certainty_fields().
TestedMeasure tested_share();

/// Collects the rows of one model, because the significance of an effect depends on the number of
/// tests and on their p-values.
class TestedRows {
 public:
  /// `prompts`: their number; `groups`: of each, or empty. `sink` must outlive this object.
  TestedRows(std::string model, std::size_t prompts, const std::vector<std::int64_t>& groups,
             std::vector<TestedMeasure> measures, RowSink& sink);

  /// `row`: complete except for the fields of the measures and "tests". `certainties`: one per
  /// measure.
  void add(Record row, std::vector<Certainty> certainties);

  /// Writes the rows. Adds a note if so few prompts cannot be significant among so many tests.
  void finish();

 private:
  struct Added {
    Record row;
    std::vector<Certainty> certainties;
  };

  /// Significance of each row's measure; null if it is not measured.
  std::vector<Value> significances(std::size_t measure) const;

  std::string model_;
  std::int64_t groups_;
  std::vector<TestedMeasure> measures_;
  RowSink& sink_;
  std::vector<Added> rows_;
};

}  // namespace attnscope
