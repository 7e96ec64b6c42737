// Which bytes a part of a table occupies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attnscope {

/// Bytes [begin, end) of each of these rows of `row_bytes` bytes. Whole rows are returned as one
/// stretch.
std::vector<std::span<const std::byte>> row_stretches(std::span<const std::byte> table,
                                                      std::int64_t row_bytes,
                                                      std::int64_t first_row, std::int64_t rows,
                                                      std::int64_t begin, std::int64_t end);

}  // namespace attnscope
