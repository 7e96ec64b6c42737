// `matrix` for people: the shape and the corners.
#include <fmt/format.h>

#include "attnscope/output/terminal.h"
#include "attnscope/output/writers.h"

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

void write_matrix_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  const Style style(options.color);
  const auto values_of = [&](std::size_t row) -> const std::vector<double>& {
    return *report.rows[row].find("values")->get<std::vector<double>>();
  };
  const std::size_t rows = report.rows.size(), cols = rows == 0 ? 0 : values_of(0).size();
  const std::int64_t head = integer_field(report.parameters, "head", -1);
  out << style.bold(text_field(report.models.front(), "name")) << "  "
      << style.dim(fmt::format("{} of layer {}{}, {} x {}", text_field(report.parameters, "matrix"),
                               integer_field(report.parameters, "layer"),
                               head < 0 ? "" : fmt::format(", head {}", head), rows, cols))
      << "\n\n";
  std::vector<std::vector<std::string>> lines;
  for (const std::size_t row : shown(rows)) {
    auto& line = lines.emplace_back(
        std::vector<std::string>{row == rows ? "..." : style.dim(std::to_string(row))});
    for (const std::size_t col : shown(cols)) {
      const bool gap = row == rows || col == cols;
      line.push_back(gap ? "..." : fmt::format("{:.5g}", values_of(row)[col]));
    }
  }
  out << align(lines) << '\n'
      << style.dim("Canonical orientation: rows are outputs. --out FILE.npy saves it for NumPy.")
      << '\n';
}

}  // namespace attnscope
