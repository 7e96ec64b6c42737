// The values of a matrix of a file, read straight from the file's bytes where their order does not
// matter: in runs as they lie there, without a decoded copy of the matrix.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "attnscope/tensor/tensor_matrix.h"

namespace attnscope {

/// A rectangle of a matrix: one head, or all of it.
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

/// Every value of the part once, exact in float64, in blocks of at most a few thousand. The order
/// follows the storage. The dtype must be of class `real`.
void visit_values(const TensorMatrix& matrix, const MatrixPart& part,
                  const std::function<void(std::span<const double>)>& visit);

/// About `wanted` values of the part: one at random from each of as many equal stretches, by a
/// fixed seed; all of them where there are no more.
std::vector<double> sample_values(const TensorMatrix& matrix, const MatrixPart& part,
                                  std::int64_t wanted);

/// Whether elements are so short that counting their bit patterns says all there is to say; those of
/// a source where it rounds to 16 bits.
bool has_countable_patterns(const TensorView& tensor);

/// What the 2^bits bit patterns of such a dtype stand for.
struct PatternTable {
  std::vector<double> values;            // by pattern; NaN and Inf among them
  std::vector<std::uint32_t> ascending;  // the patterns of finite values, by value
};

/// Throws std::invalid_argument for other dtypes than those of such tensors.
const PatternTable& pattern_table(DType dtype);

/// Adds how often each bit pattern occurs in the part to `counts`, (2^bits,).
void count_patterns(const TensorMatrix& matrix, const MatrixPart& part,
                    std::span<std::int64_t> counts);

}  // namespace attnscope
