// Table of `similarity`: mean and standard deviation of the cosines within heads, across heads and
// of all pairs; or the overlap of heads.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <set>

#include "attnscope/features/all_tables.h"
#include "attnscope/rows/table/alignment.h"
#include "attnscope/rows/table/layer_grid.h"
#include "attnscope/rows/table/skipped_lines.h"
#include "attnscope/rows/table/style.h"

namespace attnscope {
namespace {

// ---- Cosines ------------------------------------------------------------------------------------

/// "within_head" → " within".
std::string scope_suffix(const std::string& scope) {
  return ' ' + scope.substr(0, scope.find('_'));
}

void write_cosines(const Report& report, const WriteOptions& options, std::ostream& out) {
  const Style style(options.color);
  LayerGrid grid;
  for (const Record& row : report.rows) {
    grid.set(text_field(row, "model"), integer_field(row, "layer"), LayerGrid::kWhole,
             text_field(row, "matrix") + scope_suffix(text_field(row, "scope")),
             mean_and_std(row, "{:.3f}", "{:.3f}") + sparkline(row, style));
  }
  grid.set_skipped(report, {" within", " across", " all"});
  grid.write(report, options, out);
  write_skipped(report, out);
  if (report.rows.empty()) return;
  write_legend(
      "Mean ± standard deviation of the cosines between rows. within: rows of one head. across: "
      "rows of two heads. all: all pairs of rows.",
      options, out);
}

// ---- Overlap of heads ---------------------------------------------------------------------------

/// (H, H); NaN for null.
MatrixView<const double> overlap_of(const Record& row) {
  const auto matrix = expect_matrix<double>(row, "overlap");
  if (matrix.rows != matrix.cols) refuse_field("overlap");
  return matrix;
}

/// Mean over the pairs of heads, then the highest overlap and its pair.
std::string overlap_cell(const Record& row, const Style& style) {
  const auto matrix = overlap_of(row);
  double sum = 0, highest = -1;
  std::int64_t pairs = 0, first = 0, second = 0;
  for (std::int64_t a = 0; a < matrix.rows; ++a) {
    for (std::int64_t b = a + 1; b < matrix.cols; ++b) {
      const double overlap = matrix(a, b);
      if (std::isnan(overlap)) continue;
      sum += overlap;
      ++pairs;
      if (overlap <= highest) continue;
      highest = overlap;
      first = a;
      second = b;
    }
  }
  if (pairs == 0) return "-";
  return fmt::format("{:.3f}  {} {}", sum / static_cast<double>(pairs),
                     style.shade(highest, fmt::format("{:.3f}", highest)),
                     style.dim(fmt::format("({}, {})", first, second)));
}

void write_overlap_matrix(const Record& row, const WriteOptions& options, std::ostream& out) {
  const Style style(options.color);
  const auto matrix = overlap_of(row);
  Lines lines = {{style.bold(text_field(row, "matrix"))}};
  for (std::int64_t head = 0; head < matrix.rows; ++head) {
    lines[0].push_back(style.dim(std::to_string(head)));
  }
  for (std::int64_t a = 0; a < matrix.rows; ++a) {
    auto& line = lines.emplace_back(std::vector<std::string>{style.dim(std::to_string(a))});
    for (std::int64_t b = 0; b < matrix.cols; ++b) {
      const double overlap = matrix(a, b);
      line.push_back(
          std::isnan(overlap) ? "-" : style.shade(overlap, fmt::format("{:.0f}", 100 * overlap)));
    }
  }
  out << fold(lines, static_cast<std::size_t>(options.width)) << '\n';
}

void write_overlap(const Report& report, const WriteOptions& options, std::ostream& out) {
  const Style style(options.color);
  LayerGrid grid;
  std::set<std::int64_t> layers;
  for (const Record& row : report.rows) {
    layers.insert(integer_field(row, "layer"));
    grid.set(text_field(row, "model"), integer_field(row, "layer"), LayerGrid::kWhole,
             text_field(row, "matrix"), overlap_cell(row, style));
  }
  grid.set_skipped(report, {""});
  grid.write(report, options, out);
  if (layers.size() == 1) {
    for (const Record& row : report.rows) {
      if (report.models.size() > 1) out << style.bold(text_field(row, "model")) << '\n';
      write_overlap_matrix(row, options, out);
    }
  }
  write_skipped(report, out);
  if (report.rows.empty()) return;
  write_legend(layers.size() == 1
                   ? "Overlap of the row spaces of two heads, from 0 to 1: mean, highest value, "
                     "and the pair of heads with this value. Below: all pairs of heads, in %."
                   : "Overlap of the row spaces of two heads, from 0 to 1: mean, highest value, "
                     "and the pair of heads with this value. To see all pairs, select one layer (" +
                         options.spell("layers") + " 0).",
               options, out);
}

}  // namespace

void write_similarity_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  if (report.parameters.find("overlap") != nullptr) return write_overlap(report, options, out);
  write_cosines(report, options, out);
}

}  // namespace attnscope
