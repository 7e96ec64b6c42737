// Digests that detect changed rows. SQLite does not notice if a number changes on the disk.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "attnscope/engine/outcome.h"
#include "attnscope/engine/store/store.h"

namespace attnscope {

/// Returns a digest of the texts, their number and their boundaries.
std::string digest_of_texts(std::initializer_list<std::string_view> texts);

/// Returns the digest of an analysis. `parameters`: its parameters as stored.
std::string analysis_digest(const StoredAnalysis& analysis, const std::string& parameters);

/// Returns the digest of an item and all its rows, in order.
std::string item_digest(const std::string& inputs, std::span<const Outcome> outcomes);

/// Returns the digest of a place. `analysis` and `model` are ids; `item` is the digest of the item.
std::string place_digest(std::int64_t analysis, std::int64_t model,
                         std::optional<std::int64_t> layer, const std::string& matrix,
                         std::int64_t position, const std::string& item);

}  // namespace attnscope
