// Which layers and matrices a command looks at.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/core/role.h"
#include "attnscope/model/model.h"

namespace attnscope {

/// `0-3,-4-`: single layers and ranges, both ends included; negative counts from the end.
class LayerSelection {
 public:
  /// Every layer.
  LayerSelection() = default;
  /// Throws Error(usage).
  explicit LayerSelection(std::string_view text);

  /// Ascending, each once. Throws Error(usage) naming the model that lacks a layer.
  std::vector<std::int64_t> resolve(std::int64_t layers, std::string_view model) const;

 private:
  struct Range {
    std::int64_t first = 0;
    std::int64_t last = -1;
    std::string text;  // as it was typed
  };
  std::vector<Range> ranges_;  // empty: all
};

/// The matrices to look at, for each model those of `wanted` that it has, in the order of `wanted`;
/// where nothing is wanted, its projections. Throws Error(usage) for one that no model has.
std::vector<std::vector<Role>> select_matrices(std::span<const Model> models,
                                               std::span<const Role> wanted);

}  // namespace attnscope
