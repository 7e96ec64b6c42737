// `matrix` for people: the shape and the corners.
#include <fmt/format.h>

#include "attnscope/output/matrix_corners.h"
#include "attnscope/output/writers.h"

namespace attnscope {

void write_matrix_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  const Style style(options.color);
  const auto number_text = [](double weight) { return fmt::format("{:.5g}", weight); };
  write_matrix_corners(report, style, number_text, out);
  out << style.dim("Canonical orientation: rows are outputs. --out FILE.npy saves it for NumPy.")
      << '\n';
}

}  // namespace attnscope
