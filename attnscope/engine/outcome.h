// What an analysis found out about one matrix or head, without the names of model and layer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/rows/record.h"

namespace attnscope {

/// Of one matrix of a layer, or of one head of it: the fields of a row, or why there are none.
/// Model, layer and matrix are put before them later, since layers that share weights share
/// outcomes.
struct Outcome {
  std::optional<std::int64_t> head;  // none: the whole matrix
  Record fields;
  std::string skipped;  // the reason; empty where there are fields
  std::string note;     // what a reader should know though there are fields; may be empty
};

// The outcomes of an item as a text, for a file or another process.

/// As JSON, and back. Rows of outcomes that were read back print the same bytes. parse_outcomes()
/// throws Error(format) for other text; the error names `where` as its file.
std::string outcomes_text(const std::vector<Outcome>& outcomes);
std::vector<Outcome> parse_outcomes(std::string_view text, std::string_view where);

}  // namespace attnscope
