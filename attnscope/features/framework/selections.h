// Selections by arguments: layers, one head of a layer, and ranks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attnscope/base/head_index.h"
#include "attnscope/base/role.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/record.h"

namespace attnscope {

/// Both ends are included; a negative number counts from the end.
struct LayerRange {
  std::int64_t first = 0;
  std::int64_t last = -1;

  /// "3", "0-3", "-4-" (to the end).
  std::string text() const;
};

/// Single layers and ranges of them.
struct LayerSelection {
  std::vector<LayerRange> ranges;  // empty: every layer

  /// The selection as a report parameter: "0-3,-4-", or null for all layers.
  Value parameter() const;

  /// The selected layers, ascending, without duplicates. Throws Error(usage) naming the model that
  /// lacks a layer.
  std::vector<std::int64_t> resolve(std::int64_t layers, std::string_view model) const;
};

/// "L5H3".
std::string head_text(const HeadIndex& place);
/// "L5H3,L6H0".
std::string heads_text(const std::vector<HeadIndex>& places);

/// A head whose input is changed: all of them, or its queries, keys or values alone. Or the logits.
struct HeadInput {
  HeadIndex head;
  std::optional<Role> input;  // query, key or value
  bool logits = false;        // instead of a head
};

/// "L5H3", "L5H3.q" or "logits".
std::string receiver_text(const HeadInput& receiver);

/// With its layer counted from the first. Throws Error(usage) naming the parameter where the model
/// has no such head.
HeadIndex place_in(const Model& model, HeadIndex place, const char* parameter);

/// One matrix of one layer.
using LayerMatrix = std::pair<std::int64_t, Role>;

/// An integer, or a share of the model's hidden size.
struct Rank {
  double number = 0;  // the rank, or the share in (0, 1]
  bool of_width = false;

  /// The rank, at least 1; a share of the hidden size is rounded to the nearest integer.
  std::int64_t resolve(std::int64_t width) const;
  /// "512", "0.1D".
  std::string text() const;
  friend bool operator==(const Rank&, const Rank&) = default;
};

/// Throws Error(usage) if the text is neither.
Rank parse_rank(std::string_view text);

}  // namespace attnscope
