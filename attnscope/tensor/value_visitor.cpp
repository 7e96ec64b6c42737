#include "attnscope/tensor/value_visitor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <random>
#include <stdexcept>
#include <string>

#include "attnscope/tensor/decode.h"
#include "attnscope/tensor/low_precision.h"

namespace attnscope {
namespace {

/// Whether elements are visited row by row, the direction in which they are contiguous. A strided
/// view uses the order of an unstrided tensor of its shape, so that sums agree to the last digit.
bool goes_by_rows(const TensorMatrix& matrix) {
  const Shape& strides = matrix.tensor.strides;
  if (!strides.empty()) return matrix.col_stride == strides.back();
  return matrix.row_stride != 1 || matrix.col_stride == 1;
}

/// Calls visit(first, stride, count) for runs of elements that together cover the part.
template <class Visit>
void for_each_run(const TensorMatrix& matrix, const MatrixPart& part, Visit visit) {
  if (part.count() == 0) return;
  const std::int64_t end_row = part.first_row + part.rows;
  if (goes_by_rows(matrix)) {
    for (std::int64_t row = part.first_row; row < end_row; ++row) {
      visit(matrix.row_start(row) + part.first_col * matrix.col_stride, matrix.col_stride,
            part.cols);
    }
    return;
  }
  for (std::int64_t col = part.first_col; col < part.first_col + part.cols; ++col) {
    for (std::int64_t row = part.first_row; row < end_row;) {
      const std::int64_t left_in_block = matrix.block_rows - row % matrix.block_rows;
      const std::int64_t count = std::min(left_in_block, end_row - row);
      visit(matrix.row_start(row) + col * matrix.col_stride, matrix.row_stride, count);
      row += count;
    }
  }
}

/// Visits the part of a source in tiles that are large enough to decode at full speed.
template <class T>
void for_each_tile(const TensorMatrix& matrix, const MatrixPart& part,
                   const std::function<void(std::span<const T>)>& visit) {
  constexpr std::int64_t kRows = 64, kCols = 1024;
  Matrix<T> tile(std::min(kRows, part.rows), std::min(kCols, part.cols));
  for (std::int64_t row = 0; row < part.rows; row += kRows) {
    for (std::int64_t col = 0; col < part.cols; col += kCols) {
      const std::int64_t rows = std::min(kRows, part.rows - row);
      const std::int64_t cols = std::min(kCols, part.cols - col);
      decode_block<T>(matrix, part.first_row + row, part.first_col + col,
                      {tile.data(), rows, cols, cols, 1});
      visit({tile.data(), static_cast<std::size_t>(rows * cols)});
    }
  }
}

PatternTable make_pattern_table(DType dtype) {
  const int bytes_each = dtype_info(dtype).bits / 8;
  const std::size_t count = std::size_t{1} << dtype_info(dtype).bits;
  std::vector<std::byte> bytes;
  for (std::size_t pattern = 0; pattern < count; ++pattern) {
    bytes.push_back(static_cast<std::byte>(pattern & 0xFF));
    if (bytes_each == 2) bytes.push_back(static_cast<std::byte>(pattern >> 8));
  }
  PatternTable table{.values = std::vector<double>(count)};
  const auto size = static_cast<std::int64_t>(count);
  decode_elements({dtype, {size}, bytes}, 0, 1, size, table.values.data());
  for (std::uint32_t pattern = 0; pattern < count; ++pattern) {
    if (std::isfinite(table.values[pattern])) table.ascending.push_back(pattern);
  }
  std::stable_sort(
      table.ascending.begin(), table.ascending.end(),
      [&](std::uint32_t a, std::uint32_t b) { return table.values[a] < table.values[b]; });
  return table;
}

void count_bytes(const std::byte* at, std::int64_t stride, std::int64_t count,
                 std::span<std::int64_t> counts) {
  for (std::int64_t index = 0; index < count; ++index) {
    ++counts[static_cast<std::size_t>(at[index * stride])];
  }
}

void count_pairs_of_bytes(const std::byte* at, std::int64_t stride, std::int64_t count,
                          std::span<std::int64_t> counts) {
  for (std::int64_t index = 0; index < count; ++index) {
    const std::byte* pair = at + 2 * index * stride;
    ++counts[static_cast<std::size_t>(pair[0]) | static_cast<std::size_t>(pair[1]) << 8];
  }
}

}  // namespace

void visit_values(const TensorMatrix& matrix, const MatrixPart& part,
                  const std::function<void(std::span<const double>)>& visit) {
  if (matrix.tensor.source != nullptr) return for_each_tile<double>(matrix, part, visit);
  constexpr std::int64_t kBlock = 4096;  // 32 kB: fits in the L1 cache
  std::array<double, kBlock> block;
  std::int64_t filled = 0;
  const auto flush = [&] {
    if (filled > 0) visit({block.data(), static_cast<std::size_t>(filled)});
    filled = 0;
  };
  for_each_run(matrix, part, [&](std::int64_t first, std::int64_t stride, std::int64_t count) {
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t taken = std::min(count - done, kBlock - filled);
      decode_elements(matrix.tensor, first + done * stride, stride, taken, block.data() + filled);
      filled += taken;
      done += taken;
      if (filled == kBlock) flush();
    }
  });
  flush();
}

std::vector<double> sample_values(const TensorMatrix& matrix, const MatrixPart& part,
                                  std::int64_t wanted) {
  const std::int64_t count = part.count();
  const std::int64_t size = std::min(wanted, count);
  std::vector<double> sample(static_cast<std::size_t>(size));
  std::mt19937_64 random(1);  // the same numbers on every machine
  for (std::int64_t index = 0; index < size; ++index) {
    // Divides the part into runs of length count / size; the first count % size of them are longer
    // by one.
    const std::int64_t length = count / size, longer = count % size;
    const std::int64_t begin = index * length + std::min(index, longer);
    const auto own = static_cast<std::uint64_t>(length + (index < longer ? 1 : 0));
    const std::int64_t at = begin + static_cast<std::int64_t>(random() % own);
    const std::int64_t row = part.first_row + at / part.cols;
    const std::int64_t col = part.first_col + at % part.cols;
    decode_elements(matrix.tensor, matrix.row_start(row) + col * matrix.col_stride, 1, 1,
                    &sample[static_cast<std::size_t>(index)]);
  }
  return sample;
}

bool has_countable_patterns(const TensorView& tensor) {
  const DTypeInfo& info = dtype_info(tensor.dtype);
  if (tensor.source != nullptr) return tensor.dtype == DType::f16 || tensor.dtype == DType::bf16;
  return info.kind == DTypeClass::real && (info.bits == 8 || info.bits == 16);
}

const PatternTable& pattern_table(DType dtype) {
  static const std::map<DType, PatternTable> tables = [] {
    std::map<DType, PatternTable> made;
    for (const DTypeInfo& info : all_dtypes()) {
      if (has_countable_patterns(TensorView{info.dtype})) {
        made.emplace(info.dtype, make_pattern_table(info.dtype));
      }
    }
    return made;
  }();
  const auto found = tables.find(dtype);
  if (found != tables.end()) return found->second;
  throw std::invalid_argument("the bit patterns of " + std::string(dtype_name(dtype)) +
                              " cannot be counted");
}

void count_patterns(const TensorMatrix& matrix, const MatrixPart& part,
                    std::span<std::int64_t> counts) {
  if (matrix.tensor.source != nullptr) {
    const auto pattern = matrix.tensor.dtype == DType::f16 ? f16_pattern : bf16_pattern;
    return for_each_tile<float>(matrix, part, [&](std::span<const float> values) {
      for (const float value : values) ++counts[pattern(value)];
    });
  }
  const std::byte* start = matrix.tensor.bytes.data();
  const bool two_bytes = dtype_info(matrix.tensor.dtype).bits == 16;
  for_each_run(matrix, part, [&](std::int64_t first, std::int64_t stride, std::int64_t count) {
    if (two_bytes) {
      count_pairs_of_bytes(start + 2 * first, stride, count, counts);
    } else {
      count_bytes(start + first, stride, count, counts);
    }
  });
}

}  // namespace attnscope
