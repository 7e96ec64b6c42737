// From outcomes to the rows of a report.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "attnscope/results/outcome.h"
#include "attnscope/results/sink.h"

namespace attnscope {

/// Where outcomes stand: what the ids of their rows say.
struct RowPlace {
  std::string model;
  std::optional<std::int64_t> layer;  // none for a tensor by name
  std::string matrix;
};

/// Turns the outcomes of items, which come in the order of their rows, into rows.
struct RowMaker {
  std::function<void(const RowPlace&, std::span<const Outcome>)> add;
  std::function<void()> finish = [] {};
};

/// A row for each outcome, which names its role in `role_field`: "matrix", "circuit".
RowMaker rows_with_heads(RowSink& sink, const char* role_field = "matrix");

/// The same of whole matrices, where a `head` could only be null.
RowMaker rows_without_heads(RowSink& sink);

/// Every outcome of a matrix that is skipped as a whole: its own and one for each of `heads`.
std::vector<Outcome> all_skipped(const std::string& reason, std::int64_t heads);

/// An outcome that was skipped, and a note, as a report tells them.
Skipped skipped_entry(const RowPlace& place, const Outcome& outcome);
std::string note_of(const RowPlace& place, const Outcome& outcome);

}  // namespace attnscope
