// Result of an analysis for one matrix or head, without the names of model and layer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/rows/record.h"

namespace attnscope {

/// Result for one matrix of a layer, or for one head of it: the fields of a row, or the reason why
/// there are none. Model, layer and matrix are prepended later, because layers that share weights
/// share outcomes.
struct Outcome {
  std::optional<std::int64_t> head;  // empty: the whole matrix
  Record fields;
  std::string skipped;  // the reason; empty if there are fields
  std::string note;     // a caveat about the fields; may be empty
};

// Serialization of the outcomes of an item, for a file or another process.

/// Converts outcomes to JSON and back. Rows of parsed outcomes print the same bytes.
/// parse_outcomes() throws Error(format) for other text, with `where` as the file of the error.
std::string outcomes_text(const std::vector<Outcome>& outcomes);
std::vector<Outcome> parse_outcomes(std::string_view text, std::string_view where);

}  // namespace attnscope
