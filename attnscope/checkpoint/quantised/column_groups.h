// Which group of scales each column of a weight belongs to.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "attnscope/tensor/tensor_view.h"

namespace attnscope {

/// Groups of equally many adjacent columns, or groups listed by a tensor ("g_idx").
struct ColumnGroups {
  std::int64_t columns_each = 1;
  std::int64_t count = 1;
  std::optional<TensorView> listed;  // i32, one for each column
  std::string file, tensor;          // the list's file and tensor, for messages

  /// The groups of columns first, first + 1, …. Throws Error(format) if the list names a group that
  /// does not exist. This is checked only here, because the list is tensor data.
  void read(std::int64_t first, std::span<std::int64_t> out) const;
};

}  // namespace attnscope
