// Visits the values of a matrix directly in the file's bytes, for code that does not depend on
// their order. No decoded copy of the matrix is made.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "attnscope/tensor/tensor_matrix.h"

namespace attnscope {

/// A rectangular part of a matrix: one head, or the whole matrix.
struct MatrixPart {
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::int64_t first_col = 0;
  std::int64_t cols = 0;

  std::int64_t count() const { return rows * cols; }
};

inline MatrixPart whole_part(const TensorMatrix& matrix) {
  return {0, matrix.rows, 0, matrix.cols};
}

/// Visits every value of the part once, exact in float64, in blocks of at most a few thousand, in
/// storage order. The dtype must be of class `real`.
void visit_values(const TensorMatrix& matrix, const MatrixPart& part,
                  const std::function<void(std::span<const double>)>& visit);

/// Samples about `wanted` values of the part: one at random (fixed seed) from each of `wanted`
/// equal runs. Returns all values if there are no more than `wanted`.
std::vector<double> sample_values(const TensorMatrix& matrix, const MatrixPart& part,
                                  std::int64_t wanted);

/// Whether the counts of bit patterns determine all values: true for dtypes of 8 and 16 bits, and
/// for sources that round to 16 bits.
bool has_countable_patterns(const TensorView& tensor);

/// The values of the 2^bits bit patterns of such a dtype.
struct PatternTable {
  std::vector<double> values;            // by pattern, including NaN and Inf
  std::vector<std::uint32_t> ascending;  // the patterns of finite values, sorted by value
};

/// Throws std::invalid_argument for other dtypes.
const PatternTable& pattern_table(DType dtype);

/// Adds to `counts`, of shape (2^bits,), how often each bit pattern occurs in the part.
void count_patterns(const TensorMatrix& matrix, const MatrixPart& part,
                    std::span<std::int64_t> counts);

}  // namespace attnscope
