#include "attnscope/numerics/inference/rotary.h"

#include <cmath>
#include <cstddef>

#include "attnscope/numerics/inference/kernels/kernels.h"

namespace attnscope {

RotaryTable make_rotary_table(std::span<const float> frequencies, float gain, RotaryPairs kind,
                              std::int64_t first_position, std::int64_t tokens) {
  const auto pairs = static_cast<std::int64_t>(frequencies.size());
  RotaryTable table{
      .cos = Matrix<float>(tokens, pairs), .sin = Matrix<float>(tokens, pairs), .pairs = kind};
  for (std::int64_t token = 0; token < tokens; ++token) {
    const auto position = static_cast<float>(first_position + token);
    for (std::int64_t pair = 0; pair < pairs; ++pair) {
      const float angle = position * frequencies[static_cast<std::size_t>(pair)];
      table.cos(token, pair) = static_cast<float>(std::cos(static_cast<double>(angle))) * gain;
      table.sin(token, pair) = static_cast<float>(std::sin(static_cast<double>(angle))) * gain;
    }
  }
  return table;
}

void rotate(MatrixView<float> x, const RotaryTable& table, Rotation direction,
            const Compute& compute) {
  const std::int64_t pairs = table.cos.cols();
  const bool halves = table.pairs == RotaryPairs::halves;
  if (compute.kernels.available()) {
    const auto rotate_rows = halves ? kernels::rotate_halves : kernels::rotate_neighbors;
    return rotate_rows(compute.kernels, x, table.cos.data(), table.sin.data(), pairs,
                       direction == Rotation::backward);
  }
  for (std::int64_t token = 0; token < x.rows; ++token) {
    for (std::int64_t pair = 0; pair < pairs; ++pair) {
      const auto [at, step] = rotary_pair(table.pairs, pair, pairs);
      float &first = x(token, at), &second = x(token, at + step);
      const float a = first, b = second, cos = table.cos(token, pair);
      const float sin =
          direction == Rotation::backward ? -table.sin(token, pair) : table.sin(token, pair);
      first = a * cos - b * sin;
      second = b * cos + a * sin;
    }
  }
}

}  // namespace attnscope
