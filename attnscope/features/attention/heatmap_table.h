// A map of weights as a drawing in a terminal: half-block characters in colour, or
// characters of growing density.
#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "attnscope/rows/writers.h"

namespace attnscope {

/// Takes the rows of one map (T, S) from the top down, and keeps no more than what is drawn: where
/// S exceeds the width, each cell is the largest of block × block weights.
class HeatMap {
 public:
  /// `columns`: S. `labels`: of them, safe to print; none: those of the rows, of a map (T, T).
  HeatMap(std::int64_t columns, const WriteOptions& options, std::vector<std::string> labels = {});

  /// `label`: the token of the row, safe to print.
  void add_row(std::span<const double> weights, const std::string& label);

  /// Labels of the columns, then the rows with theirs.
  void draw(bool log_scale, std::ostream& out) const;

  /// A line that says what the colours or characters mean.
  void draw_scale(bool log_scale, std::ostream& out) const;

 private:
  /// Of a weight, 0 to 1; below 0 where nothing is drawn, as the weight is exactly 0.
  double share(double weight, bool log_scale) const;
  std::string row_label(std::int64_t cell) const;
  std::string color(double share, bool background) const;
  void draw_column_labels(std::ostream& out) const;
  void draw_ticks(std::ostream& out) const;
  void draw_half_blocks(bool log_scale, std::ostream& out) const;
  void draw_characters(bool log_scale, std::ostream& out) const;

  WriteOptions options_;
  std::int64_t row_cells() const { return (rows_ + block_ - 1) / block_; }

  std::int64_t size_;              // S
  std::int64_t block_ = 1;         // weights of a cell, in either direction
  std::int64_t cells_ = 0;         // from left to right
  std::int64_t cell_columns_ = 1;  // of the terminal; a cell is as high as it is wide
  std::int64_t index_width_ = 1;
  std::int64_t rows_ = 0;            // that came
  std::vector<double> largest_;      // (row cells, cells)
  std::vector<std::string> labels_;  // of the first row of each cell
  std::vector<std::string> column_labels_;
  double top_ = 0;  // the largest of all
};

}  // namespace attnscope
