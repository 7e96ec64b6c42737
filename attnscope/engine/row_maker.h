// From outcomes to the rows of a report.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "attnscope/engine/outcome.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// The model, layer and matrix of outcomes: the first fields of their rows.
struct RowPlace {
  std::string model;
  std::optional<std::int64_t> layer;  // none for a tensor by name
  std::string matrix;
};

/// Turns outcomes into rows. `add` is called for each item in the order of the rows, `finish` once
/// at the end.
struct RowMaker {
  std::function<void(const RowPlace&, std::span<const Outcome>)> add;
  std::function<void()> finish = [] {};
};

/// For rows that need several items: `Rows` is constructed with the sink, collects outcomes in
/// add(), and gives the remaining rows in finish().
template <typename Rows>
RowMaker gathered_rows(RowSink& sink) {
  const auto rows = std::make_shared<Rows>(sink);
  return {.add = [rows](const RowPlace& place,
                        std::span<const Outcome> outcomes) { rows->add(place, outcomes); },
          .finish = [rows] { rows->finish(); }};
}

/// A row for each outcome, which names its role in `role_field`: "matrix", "circuit".
RowMaker rows_with_heads(RowSink& sink, const char* role_field = "matrix");

/// The same without the field `head`, for analyses of whole matrices.
RowMaker rows_without_heads(RowSink& sink);

/// The outcomes of a matrix that is skipped as a whole: one for itself and one for each of its
/// `heads`, all with that reason.
std::vector<Outcome> all_skipped(const std::string& reason, std::int64_t heads);

/// The entry of a report for a skipped outcome, and the text of an outcome's note.
Skipped skipped_entry(const RowPlace& place, const Outcome& outcome);
std::string note_of(const RowPlace& place, const Outcome& outcome);

}  // namespace attnscope
