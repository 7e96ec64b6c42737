// What the tables of `attention` share.
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

/// "0.93 ±0.01" of the fields `name` and `name`_error; without the error where that is null, "-"
/// where the mean is.
std::string mean_and_error(const Record& row, const std::string& name, const char* format,
                           const char* error_format);

/// "L4 H0": the layer and the head of a row.
std::string head_text(const Record& row);

/// "100 sequences of 100 tokens (book.txt)", as far as the parameters of a report say it.
std::string sequences_text(const Record& parameters);

/// One of " .:-=+*#%@", emptier to fuller, for `share` in [0, 1]: what stands for a colour where
/// there is none.
char density_character(double share);

// What the tables of `circuits` share.

/// "weights as stored: no norms, biases or positions", or what was done to them.
std::string variant_text(const Record& parameters);

// What the tables of `spectrum` share: ranks and shares as text, a model's title.

using LayerHead = std::pair<std::int64_t, std::int64_t>;

/// An energy rank, the largest there could be, and what a random matrix of that shape needs.
struct RankCell {
  std::int64_t rank = 0;
  std::int64_t possible = 0;
  std::optional<std::int64_t> null;

  /// Adds up the matrices of several layers.
  RankCell& operator+=(const RankCell& other);
};

/// `fields` has `energy_rank`, `random_energy_rank` and `max_possible_rank`.
RankCell rank_cell(const Record& fields, const std::string& threshold);

/// `61 48%`: the rank and its share of the possible one. The bar and the colour say the share of
/// the null instead, where there is one.
std::string cell_text(const RankCell& cell, const Style& style, bool with_bar = true);

/// The same without the share: `61`.
std::string rank_text(const RankCell& cell, const Style& style);

/// 0.987 → "98.7%".
std::string share_text(double share);

/// Those of the model of that name, in their order.
std::vector<const Record*> rows_of_model(const Report& report, std::string_view name);

/// "llama, 6 layers, 6 heads (2 key/value) of 64, width 384, F32".
std::string model_title(const Record& model);

// Tokens in tables.

/// A token on one line, its spaces to be seen; its id where it has no text.
std::string token_cell(const Record& token, std::string_view text_field_name,
                       std::string_view id_field);

}  // namespace attnscope
