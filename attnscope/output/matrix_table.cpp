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

/// `rows`: those of one model's matrix.
void write_matrix(const std::vector<const Record*>& rows, const Style& style, std::ostream& out) {
  const auto values_of = [&](std::size_t row) -> const std::vector<double>& {
    return *rows[row]->find("values")->get<std::vector<double>>();
  };
  const Record& first = *rows.front();
  const std::size_t cols = values_of(0).size();
  const std::int64_t head = integer_field(first, "head", -1);
  out << style.bold(text_field(first, "model")) << "  "
      << style.dim(fmt::format("{} of layer {}{}, {} x {}", text_field(first, "matrix"),
                               integer_field(first, "layer"),
                               head < 0 ? "" : fmt::format(", head {}", head), rows.size(), cols))
      << "\n\n";
  std::vector<std::vector<std::string>> lines;
  for (const std::size_t row : shown(rows.size())) {
    auto& line = lines.emplace_back(
        std::vector<std::string>{row == rows.size() ? "..." : style.dim(std::to_string(row))});
    for (const std::size_t col : shown(cols)) {
      const bool gap = row == rows.size() || col == cols;
      line.push_back(gap ? "..." : fmt::format("{:.5g}", values_of(row)[col]));
    }
  }
  out << align(lines) << '\n';
}

}  // namespace

void write_matrix_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  const Style style(options.color);
  for (const Record& model : report.models) {
    std::vector<const Record*> rows;
    for (const Record& row : report.rows) {
      if (text_field(row, "model") == text_field(model, "name")) rows.push_back(&row);
    }
    write_matrix(rows, style, out);
  }
  out << style.dim("Canonical orientation: rows are outputs. --out FILE.npy saves it for NumPy.")
      << '\n';
}

}  // namespace attnscope
