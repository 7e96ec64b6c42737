// `spectrum --activations` for people: a row per layer; of each matrix the rank of its weights, of
// what it gives on the text, and of what it reads.
#include <fmt/format.h>

#include <algorithm>

#include "attnscope/output/layer_grid.h"
#include "attnscope/output/legend.h"
#include "attnscope/output/skipped_lines.h"
#include "attnscope/output/tables.h"
#include "attnscope/output/terminal.h"

namespace attnscope {
namespace {

std::int64_t last_rank(const Record& row, std::string_view name) {
  const auto& ranks = expect<Record>(row, name).fields();
  return ranks.empty() ? 0 : expect<std::int64_t>(ranks.back().second, name);
}

}  // namespace

void write_activation_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  const Style style(options.color);
  LayerGrid grid;
  std::string threshold;
  for (const Record& row : report.rows) {
    const auto& thresholds = expect<Record>(row, "energy_rank").fields();
    if (!thresholds.empty()) threshold = thresholds.back().first;
    const auto possible =
        static_cast<double>(std::max<std::int64_t>(1, integer_field(row, "possible_rank")));
    const std::int64_t given = last_rank(row, "activation_energy_rank");
    const std::string ranks = fmt::format("{:>4} {:>4} {:>4}", last_rank(row, "energy_rank"), given,
                                          last_rank(row, "input_energy_rank"));
    grid.set(text_field(row, "model"), integer_field(row, "layer"), LayerGrid::kWhole,
             text_field(row, "matrix"), style.shade(static_cast<double>(given) / possible, ranks));
  }
  grid.set_skipped(report, {""});
  grid.write(report, options, out);
  write_skipped(report, out);
  if (report.rows.empty()) return;
  write_legend("Directions that hold " + threshold +
                   " of the squared sum: of the weights, of what they give on the text, of what "
                   "they read.",
               options, out);
}

}  // namespace attnscope
