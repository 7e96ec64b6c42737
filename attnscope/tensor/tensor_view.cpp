#include "attnscope/tensor/tensor_view.h"

#include <algorithm>
#include <array>

namespace attnscope {

void ValueSource::decode_float64(std::int64_t first_row, std::int64_t first_col,
                                 MatrixView<double> out) const {
  std::array<float, 512> line;  // most callers read at most as many values
  const bool fits = out.rows * out.cols <= std::ssize(line);
  Matrix<float> all(fits ? 0 : out.rows, fits ? 0 : out.cols);
  const MatrixView<float> values =
      fits ? MatrixView<float>{line.data(), out.rows, out.cols, out.cols, 1} : all.view();
  decode(first_row, first_col, values);
  for (std::int64_t row = 0; row < out.rows; ++row) {
    std::copy_n(&values(row, 0), out.cols, &out(row, 0));
  }
}

std::vector<std::span<const std::byte>> all_bytes(const TensorView& tensor) {
  if (tensor.source == nullptr) return {tensor.bytes};
  return tensor.source->reads(0, tensor.rows(), 0, tensor.cols());
}

std::string storage_text(const TensorView& tensor) {
  std::string text(tensor.storage_name());
  if (tensor.source != nullptr) text += " as " + std::string(dtype_name(tensor.dtype));
  return text;
}

std::uint64_t stored_bytes(const TensorView& tensor) {
  std::uint64_t total = 0;
  for (const auto& part : all_bytes(tensor)) total += part.size();
  return total;
}

std::vector<std::span<const std::byte>> row_stretches(std::span<const std::byte> table,
                                                      std::int64_t row_bytes,
                                                      std::int64_t first_row, std::int64_t rows,
                                                      std::int64_t begin, std::int64_t end) {
  const auto stretch = [&](std::int64_t from, std::int64_t to) {
    return table.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from));
  };
  if (rows <= 0 || begin >= end) return {};
  const std::int64_t first = first_row * row_bytes;
  if (end - begin == row_bytes) return {stretch(first, first + rows * row_bytes)};
  std::vector<std::span<const std::byte>> out;
  for (std::int64_t row = 0; row < rows; ++row) {
    out.push_back(stretch(first + row * row_bytes + begin, first + row * row_bytes + end));
  }
  return out;
}

}  // namespace attnscope
