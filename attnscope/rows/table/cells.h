// Shared by the tables of `attention`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attnscope/rows/record.h"
#include "attnscope/rows/sink.h"
#include "attnscope/rows/table/style.h"

namespace attnscope {

/// "0.93 ±0.01" from the fields `name` and `name`_error. Without the error if it is null; "-" if
/// the mean is null.
std::string mean_and_error(const Record& row, const std::string& name, const char* format,
                           const char* error_format);

/// "L4H0": layer and head of a row.
std::string head_text(const Record& row);

/// "100 sequences of 100 tokens (book.txt)", as far as the report parameters specify it.
std::string sequences_text(const Record& parameters);

/// One of " .:-=+*#%@", from low to high `share` in [0, 1]; replaces a color if colors are off.
char density_character(double share);

// Shared by the tables of `circuits`.

/// "weights as stored: no norms, biases or positions", or the applied changes.
std::string variant_text(const Record& parameters);

// Shared by the tables of `spectrum`: ranks and shares as text, and a model's title.

using LayerHead = std::pair<std::int64_t, std::int64_t>;

/// An energy rank, the maximum possible rank, and the energy rank of the random baseline.
struct RankCell {
  std::int64_t rank = 0;
  std::int64_t possible = 0;
  std::optional<std::int64_t> null;

  /// Adds up the matrices of several layers.
  RankCell& operator+=(const RankCell& other);
};

/// `fields` has `energy_rank`, `random_energy_rank` and `max_possible_rank`.
RankCell rank_cell(const Record& fields, const std::string& threshold);

/// `61 48%`: the rank and its share of the maximum possible rank. Bar and color show its share of
/// the random baseline instead, if there is one.
std::string cell_text(const RankCell& cell, const Style& style, bool with_bar = true);

/// The rank without its share: `61`.
std::string rank_text(const RankCell& cell, const Style& style);

/// 0.987 → "98.7%".
std::string share_text(double share);

/// The rows of the model with that name, in order.
std::vector<const Record*> rows_of_model(const Report& report, std::string_view name);

/// "llama, 6 layers, 6 heads (2 key/value) of 64, hidden size 384, F32".
std::string model_title(const Record& model);

// Tokens in tables.

/// A token on one line with visible spaces; its id if it has no text.
std::string token_cell(const Record& token, std::string_view text_field_name,
                       std::string_view id_field);

}  // namespace attnscope
