#include "attnscope/output/matrix_corners.h"

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

const std::vector<double>& values_of(const Record& row) {
  return expect<std::vector<double>>(row, "values");
}

void write_corners(const std::vector<const Record*>& rows, const Style& style,
                   std::string (*number_text)(double), std::ostream& out) {
  const Record& first = *rows.front();
  const std::size_t cols = values_of(first).size();
  const std::int64_t head = integer_field(first, "head", -1);
  out << style.bold(text_field(first, "model")) << "  "
      << style.dim(fmt::format("{} of layer {}{}, {} x {}", text_field(first, "matrix"),
                               integer_field(first, "layer"),
                               head < 0 ? "" : fmt::format(", head {}", head), rows.size(), cols))
      << "\n\n";
  std::vector<std::vector<std::string>> lines;
  for (const std::size_t row : shown(rows.size())) {
    const bool gap_row = row == rows.size();
    auto& line = lines.emplace_back(
        std::vector<std::string>{gap_row ? "..." : style.dim(std::to_string(row))});
    for (const std::size_t col : shown(cols)) {
      if (gap_row || col == cols) {
        line.emplace_back("...");
        continue;
      }
      const double value = values_of(*rows[row])[col];
      line.push_back(std::isfinite(value) ? number_text(value) : "-");
    }
  }
  out << align(lines) << '\n';
}

}  // namespace

void write_matrix_corners(const Report& report, const Style& style,
                          std::string (*number_text)(double), std::ostream& out) {
  std::vector<std::vector<const Record*>> matrices;
  for (const Record& row : report.rows) {
    if (integer_field(row, "row") == 0 || matrices.empty()) matrices.emplace_back();
    const auto& first = matrices.back().empty() ? row : *matrices.back().front();
    if (values_of(row).size() != values_of(first).size()) refuse_field("values");
    matrices.back().push_back(&row);
  }
  for (const auto& rows : matrices) write_corners(rows, style, number_text, out);
}

}  // namespace attnscope
