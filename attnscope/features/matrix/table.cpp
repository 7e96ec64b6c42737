// Table of `matrix` and `similarity --head-matrix`: shape and corners of each matrix.
#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

#include "attnscope/features/all_tables.h"
#include "attnscope/rows/record.h"
#include "attnscope/rows/table/skipped_lines.h"
#include "attnscope/rows/table/style.h"

namespace attnscope {
namespace {

constexpr std::size_t kEdge = 4;  // rows and columns shown at each end

/// Indices shown out of `count`; `count` itself marks the gap.
std::vector<std::size_t> shown(std::size_t count) {
  std::vector<std::size_t> out;
  for (std::size_t at = 0; at < count; ++at) {
    if (at < kEdge || at + kEdge >= count) out.push_back(at);
    if (at == kEdge && at + kEdge < count) out.push_back(count);
  }
  return out;
}

/// Takes report rows one by one and keeps only those that are shown. A row with field `row` 0
/// starts a matrix.
class MatrixCorners {
 public:
  void add(const Record& row);
  bool empty() const { return matrices_.empty(); }

  /// Writes each matrix with title, shape and corners, formatted by `number_text`; a value that is
  /// not a number is a dash.
  void write(const WriteOptions& options, std::string (*number_text)(double),
             std::ostream& out) const;

 private:
  struct Corners {
    std::string model, matrix;
    std::int64_t layer = 0, head = -1;
    std::size_t rows = 0, cols = 0;
    /// First and last rows: row number, and the values of the shown columns.
    std::vector<std::pair<std::size_t, std::vector<double>>> kept;
  };
  static void write(const Corners& matrix, const WriteOptions& options,
                    std::string (*number_text)(double), std::ostream& out);

  std::vector<Corners> matrices_;
};

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
  // After the first rows, only the last ones are shown.
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

std::string weight_text(double weight) { return fmt::format("{:.5g}", weight); }
std::string cosine_text(double cosine) { return fmt::format("{:.4f}", cosine); }

class MatrixTable : public ReportCollector {
 public:
  MatrixTable(const WriteOptions& options, std::ostream& out) : options_(options), out_(out) {}

  void add_row(Record row) override { corners_.add(row); }

  void end() override {
    const bool of_cosines = report().command == "similarity";
    corners_.write(options_, of_cosines ? cosine_text : weight_text, out_);
    write_skipped(report(), out_);
    if (of_cosines && corners_.empty()) return;
    out_ << Style(options_.color)
                .dim(of_cosines
                         ? "Cosines between the rows of one head. CSV and JSON contain all of them."
                         : "Canonical orientation: rows are outputs. " + options_.spell("out") +
                               " FILE.npy saves it for NumPy.")
         << '\n';
  }

 private:
  WriteOptions options_;
  std::ostream& out_;
  MatrixCorners corners_;
};

}  // namespace

std::unique_ptr<RowSink> make_matrix_table(const WriteOptions& options, std::ostream& out) {
  return std::make_unique<MatrixTable>(options, out);
}

}  // namespace attnscope
