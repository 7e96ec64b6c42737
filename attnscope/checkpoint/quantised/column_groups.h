// Which group of scales each column of a weight belongs to.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "attnscope/tensor/tensor_view.h"

namespace attnscope {

/// Groups of equally many columns after each other, or in the order that a tensor says ("g_idx").
struct ColumnGroups {
  std::int64_t columns_each = 1;
  std::int64_t count = 1;
  std::optional<TensorView> listed;  // i32, one for each column
  std::string file, tensor;          // that hold the list, for messages

  /// The groups of columns first, first + 1, …. Throws Error(format) where the list names a group
  /// that there is not: it is tensor data, and only looked at where it is used.
  void read(std::int64_t first, std::span<std::int64_t> out) const;
};

}  // namespace attnscope
