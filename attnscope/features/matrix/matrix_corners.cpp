#include "attnscope/features/matrix/matrix_corners.h"

#include <fmt/format.h>

#include <cmath>

namespace attnscope {
namespace {

constexpr std::size_t kEdge = 4;  // rows and columns shown at each end

/// Positions shown of `count`, with `count` itself standing for the gap.
std::vector<std::size_t> shown(std::size_t count) {
  std::vector<std::size_t> out;
  for (std::size_t at = 0; at < count; ++at) {
    if (at < kEdge || at + kEdge >= count) out.push_back(at);
    if (at == kEdge && at + kEdge < count) out.push_back(count);
  }
  return out;
}

}  // namespace

void MatrixCorners::add(const Record& row) {
  const auto& values = expect_vector<double>(row, "values");
  if (integer_field(row, "row") == 0 || matrices_.empty()) {
    matrices_.push_back({.model = text_field(row, "model"),
                         .matrix = text_field(row, "matrix"),
                         .layer = integer_field(row, "layer"),
                         .head = integer_field(row, "head", -1),
                         .cols = values.size()});
  }
  Corners& matrix = matrices_.back();
  if (values.size() != matrix.cols) refuse_field("values");
  std::vector<double> seen;
  for (const std::size_t col : shown(matrix.cols)) {
    if (col < matrix.cols) seen.push_back(values[col]);
  }
  // Of the rows after the first ones only the last will be shown.
  if (matrix.kept.size() == 2 * kEdge) {
    matrix.kept.erase(matrix.kept.begin() + static_cast<std::ptrdiff_t>(kEdge));
  }
  matrix.kept.emplace_back(matrix.rows++, std::move(seen));
}

void MatrixCorners::write(const WriteOptions& options, std::string (*number_text)(double),
                          std::ostream& out) const {
  for (const Corners& matrix : matrices_) write(matrix, options, number_text, out);
}

void MatrixCorners::write(const Corners& matrix, const WriteOptions& options,
                          std::string (*number_text)(double), std::ostream& out) {
  const Style style(options.color);
  const std::string head = matrix.head < 0 ? "" : fmt::format(", head {}", matrix.head);
  out << style.bold(matrix.model) << "  "
      << style.dim(fmt::format("{} of layer {}{}, {} x {}", matrix.matrix, matrix.layer, head,
                               matrix.rows, matrix.cols))
      << "\n\n";
  const std::vector<std::size_t> columns = shown(matrix.cols);
  std::vector<std::vector<std::string>> lines;
  std::size_t expected = 0;
  for (const auto& [row, values] : matrix.kept) {
    if (row != expected) lines.push_back(std::vector<std::string>(columns.size() + 1, "..."));
    expected = row + 1;
    auto& line = lines.emplace_back(std::vector<std::string>{style.dim(std::to_string(row))});
    auto value = values.begin();
    for (const std::size_t col : columns) {
      if (col == matrix.cols) {
        line.emplace_back("...");
      } else {
        line.push_back(std::isfinite(*value) ? number_text(*value) : "-");
        ++value;
      }
    }
  }
  out << fold(lines, static_cast<std::size_t>(options.width)) << '\n';
}

}  // namespace attnscope
