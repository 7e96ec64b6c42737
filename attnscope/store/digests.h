// What tells whether a stored row is still what was written: SQLite would not notice a number that
// became another on the disk.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "attnscope/results/outcome.h"
#include "attnscope/store/store.h"

namespace attnscope {

/// Of texts, their number and where each ends.
std::string digest_of_texts(std::initializer_list<std::string_view> texts);

/// `parameters`: the analysis' own, as they are stored.
std::string analysis_digest(const StoredAnalysis& analysis, const std::string& parameters);

/// Of an item and of all its rows, in their order.
std::string item_digest(const std::string& inputs, std::span<const Outcome> outcomes);

/// `analysis` and `model` are ids; `item` is the item's digest.
std::string place_digest(std::int64_t analysis, std::int64_t model,
                         std::optional<std::int64_t> layer, const std::string& matrix,
                         std::int64_t position, const std::string& item);

}  // namespace attnscope
