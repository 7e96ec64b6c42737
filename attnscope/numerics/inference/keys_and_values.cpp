#include "attnscope/numerics/inference/keys_and_values.h"

#include <algorithm>
#include <cstddef>

#include "attnscope/core/checked.h"
#include "attnscope/numerics/inference/kernels/attention.h"

namespace attnscope {
namespace {

constexpr auto kKeyPanel = static_cast<std::int64_t>(kernels::kKeyPanel);
constexpr auto kValueColumns = static_cast<std::int64_t>(kernels::kValueColumns);

constexpr std::int64_t round_up(std::int64_t count, std::int64_t step) {
  return (count + step - 1) / step * step;
}

float* reserve_rows(AlignedBuffer<float>& memory, std::int64_t rows, std::int64_t columns) {
  return memory.reserve(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
}

void copy_rows(MatrixView<const float> from, float* to) {
  for (std::int64_t row = 0; row < from.rows; ++row, to += from.cols) {
    std::copy_n(&from(row, 0), from.cols, to);
  }
}

}  // namespace

void KeysAndValues::reserve(std::int64_t tokens, std::int64_t depth, std::int64_t value_columns) {
  keys_ = reserve_rows(key_memory_, round_up(tokens, kKeyPanel), depth);
  values_ = reserve_rows(value_memory_, tokens, round_up(value_columns, kValueColumns));
  room_ = tokens;
}

std::optional<std::uint64_t> KeysAndValues::bytes(std::int64_t tokens, std::int64_t depth,
                                                  std::int64_t value_columns) {
  // Whole panels are counted: the largest sizes cannot be rounded up.
  const auto product = [](std::int64_t count, std::int64_t step, std::int64_t times) {
    const auto panels = static_cast<std::uint64_t>(count / step + (count % step != 0));
    const auto each = checked_mul(static_cast<std::uint64_t>(step) * sizeof(float),
                                  static_cast<std::uint64_t>(times));
    return each ? checked_mul(panels, *each) : std::nullopt;
  };
  const auto keys = product(tokens, kKeyPanel, depth);
  const auto values = product(value_columns, kValueColumns, tokens);
  return keys && values ? checked_add(*keys, *values) : std::nullopt;
}

void KeysAndValues::put(std::int64_t first, MatrixView<const float> k, MatrixView<const float> v,
                        Kernels kernels) {
  if (kernels.available()) {
    kernels::pack_attention_keys(kernels, k, first, keys_);
    kernels::pack_attention_values(kernels, v, first, room_, values_);
  } else {
    copy_rows(k, keys_ + first * k.cols);
    copy_rows(v, values_ + first * v.cols);
  }
}

}  // namespace attnscope
