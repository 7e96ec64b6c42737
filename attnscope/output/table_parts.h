// What the tables of `spectrum` share: ranks and shares as text, a model's title.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attnscope/output/terminal.h"
#include "attnscope/results/report.h"

namespace attnscope {

using LayerHead = std::pair<std::int64_t, std::int64_t>;

/// An energy rank, the largest there could be, and what a random matrix of that shape needs.
struct RankCell {
  std::int64_t rank = 0;
  std::int64_t possible = 0;
  std::optional<std::int64_t> null;

  /// Adds up the matrices of several layers.
  RankCell& operator+=(const RankCell& other);
};

/// `fields` has `energy_rank`, `null_energy_rank` and `possible_rank`.
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

}  // namespace attnscope
