// Matrices of which each report row is one matrix row, shown by their corners.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/rows/record.h"
#include "attnscope/rows/table/style.h"
#include "attnscope/rows/writers.h"

namespace attnscope {

/// Takes report rows one after the other and keeps only what is shown of them. One whose field
/// `row` is 0 begins a matrix.
class MatrixCorners {
 public:
  void add(const Record& row);
  bool empty() const { return matrices_.empty(); }

  /// Each matrix with a title, shape and corners, numbers in the form of `number_text`; what is no
  /// number is a dash.
  void write(const WriteOptions& options, std::string (*number_text)(double),
             std::ostream& out) const;

 private:
  struct Corners {
    std::string model, matrix;
    std::int64_t layer = 0, head = -1;
    std::size_t rows = 0, cols = 0;
    /// The first rows and the last: their numbers, and the values of the columns shown.
    std::vector<std::pair<std::size_t, std::vector<double>>> kept;
  };
  static void write(const Corners& matrix, const WriteOptions& options,
                    std::string (*number_text)(double), std::ostream& out);

  std::vector<Corners> matrices_;
};

}  // namespace attnscope
