// A heatmap in a terminal: half-block characters in color, or characters of increasing density.
#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "attnscope/rows/writers.h"

namespace attnscope {

/// Takes the rows of one map (T, S) from top to bottom and stores only what is drawn. If S exceeds
/// the width, each cell is the maximum of block × block weights.
class HeatMap {
 public:
  /// `columns`: S. `labels`: labels of the columns, safe to print; empty: labels of the rows, for a
  /// map (T, T).
  HeatMap(std::int64_t columns, const WriteOptions& options, std::vector<std::string> labels = {});

  /// `label`: token of the row, safe to print.
  void add_row(std::span<const double> weights, const std::string& label);

  /// Draws the column labels, then the rows with their labels.
  void draw(bool log_scale, std::ostream& out) const;

  /// Writes a line that explains the colors or characters.
  void draw_scale(bool log_scale, std::ostream& out) const;

 private:
  /// Color position of a weight, from 0 to 1; negative for a weight of exactly 0, which is not
  /// drawn.
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
  std::int64_t block_ = 1;         // number of weights per cell, in both directions
  std::int64_t cells_ = 0;         // number of cells from left to right
  std::int64_t cell_columns_ = 1;  // terminal columns per cell; cells are square
  std::int64_t index_width_ = 1;
  std::int64_t rows_ = 0;            // added so far
  std::vector<double> largest_;      // (row cells, cells)
  std::vector<std::string> labels_;  // label of the first row of each cell
  std::vector<std::string> column_labels_;
  double top_ = 0;  // largest weight
};

}  // namespace attnscope
