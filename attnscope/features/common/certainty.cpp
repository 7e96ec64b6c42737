#include "attnscope/features/common/certainty.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"

namespace attnscope {
namespace {

constexpr double kDiscoveryRate = 0.05;

/// Number of independent units: groups, or prompts without groups.
std::int64_t count_groups(std::size_t prompts, const std::vector<std::int64_t>& groups) {
  if (groups.empty()) return static_cast<std::int64_t>(prompts);
  return *std::ranges::max_element(groups) + 1;
}

}  // namespace

Certainty certainty_of(const std::vector<double>& changes, const std::vector<double>& wholes,
                       const std::vector<std::int64_t>& groups) {
  Certainty out{.p_value = sign_flip_p_value(changes, groups), .interval = {}};
  if (!changes.empty() && !wholes.empty()) {
    out.interval = bootstrap_ratio(changes, wholes, groups);
  }
  return out;
}

std::optional<BootstrapInterval> interval_of_mean(const std::vector<double>& values,
                                                  const std::vector<std::int64_t>& groups) {
  return bootstrap_ratio(values, std::vector<double>(values.size(), 1), groups);
}

void add_interval(Record& row, const std::string& name,
                  const std::optional<BootstrapInterval>& interval) {
  row.add(name + "_low", interval ? std::optional(interval->low) : std::nullopt)
      .add(name + "_high", interval ? std::optional(interval->high) : std::nullopt);
}

TestedMeasure tested_share() { return {.interval = "share", .test = "share"}; }

TestedRows::TestedRows(std::string model, std::size_t prompts,
                       const std::vector<std::int64_t>& groups, std::vector<TestedMeasure> measures,
                       RowSink& sink)
    : model_(std::move(model)),
      groups_(count_groups(prompts, groups)),
      measures_(std::move(measures)),
      sink_(sink) {}

void TestedRows::add(Record row, std::vector<Certainty> certainties) {
  rows_.push_back({.row = std::move(row), .certainties = std::move(certainties)});
}

std::vector<Value> TestedRows::significances(std::size_t measure) const {
  std::vector<double> tested;
  for (const Added& added : rows_) {
    const auto& p_value = added.certainties[measure].p_value;
    if (p_value) tested.push_back(*p_value);
  }
  const std::vector<bool> rejected = benjamini_hochberg(tested, kDiscoveryRate);
  std::vector<Value> out;
  std::size_t next = 0;
  for (const Added& added : rows_) {
    Value& significant = out.emplace_back();
    if (!added.certainties[measure].p_value) continue;
    significant = static_cast<bool>(rejected[next++]);
  }
  return out;
}

void TestedRows::finish() {
  const auto tests = std::ssize(rows_);
  const bool can_pass =
      smallest_sign_flip_p_value(groups_) <= kDiscoveryRate / static_cast<double>(tests);
  std::vector<std::vector<Value>> significant;
  for (std::size_t measure = 0; measure < measures_.size(); ++measure) {
    significant.push_back(can_pass ? significances(measure) : std::vector<Value>(rows_.size()));
  }
  for (std::size_t at = 0; at < rows_.size(); ++at) {
    Record& row = rows_[at].row;
    for (std::size_t measure = 0; measure < measures_.size(); ++measure) {
      const Certainty& certainty = rows_[at].certainties[measure];
      add_interval(row, measures_[measure].interval, certainty.interval);
      row.add(measures_[measure].test + "_p_value", certainty.p_value)
          .add(measures_[measure].test + "_significant", significant[measure][at]);
    }
    row.add("tests", tests);
    sink_.add_row(std::move(row));
  }
  if (!can_pass) {
    sink_.add_note(verbatim(model_) +
                   fmt::format(": {} cannot be significant among {}; at least {} independent "
                               "prompts are needed",
                               counted(groups_, "independent prompt"), counted(tests, "test"),
                               groups_needed(tests, kDiscoveryRate)));
  }
  rows_.clear();
}

}  // namespace attnscope
