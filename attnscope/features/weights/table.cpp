// Table of `weights`: one row per layer, one column per matrix. Each cell has mean and standard
// deviation and, on a color terminal with histograms, their shape.
#include "attnscope/features/all_tables.h"
#include "attnscope/rows/table/alignment.h"
#include "attnscope/rows/table/layer_grid.h"
#include "attnscope/rows/table/skipped_lines.h"
#include "attnscope/rows/table/style.h"

namespace attnscope {

void write_weights_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  const Style style(options.color);
  LayerGrid grid;
  for (const Record& row : report.rows) {
    if (row.find("expert") != nullptr) continue;  // a summary row stands for all experts
    grid.set(text_field(row, "model"), integer_field(row, "layer"),
             integer_field(row, "head", LayerGrid::kWhole), text_field(row, "matrix"),
             mean_and_std(row, "{:.2g}", "{:.3g}") + sparkline(row, style));
  }
  grid.set_skipped(report, {""});
  grid.write(report, options, out);
  write_skipped(report, out);
  if (report.rows.empty()) return;
  write_legend(
      "Mean ± standard deviation of the weights of each matrix. CSV and JSON contain all moments, "
      "quantiles and histograms.",
      options, out);
}

}  // namespace attnscope
