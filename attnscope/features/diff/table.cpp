// The table of `diff`: a row per layer. Each cell has the energy ranks of the change and its
// relative size; the last column has the relative change of the whole layer.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "attnscope/base/text.h"
#include "attnscope/features/all_tables.h"
#include "attnscope/rows/table/alignment.h"
#include "attnscope/rows/table/layer_grid.h"
#include "attnscope/rows/table/skipped_lines.h"
#include "attnscope/rows/table/style.h"

namespace attnscope {
namespace {

constexpr const char* kAll = "all";
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

std::string percent(double share) {
  if (!std::isfinite(share)) return "-";  // the base is zero
  if (share > 0 && share < 0.001) return "<0.1%";
  return fmt::format("{:.1f}%", 100 * share);
}

/// Sums of squares of the changes and of the base matrices of a layer.
struct LayerSums {
  double change = 0, weight = 0;
};

std::string diff_cell(const Record& row, const Style& style) {
  const auto& ranks = expect<Record>(row, "energy_rank").fields();
  std::string text;
  for (const auto& [threshold, rank] : ranks) {
    text += fmt::format(" {:>3}", expect<std::int64_t>(rank, "energy_rank"));
  }
  const double share = number_field(row, "relative_change").value_or(kNone);
  const double shade = std::isfinite(share) ? std::min(1.0, 4 * share) : 0;
  return text + " " + style.shade(shade, fmt::format("{:>6}", percent(share)));
}

}  // namespace

void write_diff_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  const Style style(options.color);
  LayerGrid grid;
  std::map<std::pair<std::string, std::int64_t>, LayerSums> layers;
  std::vector<std::string> thresholds;
  for (const Record& row : report.rows) {
    const auto* head = row.find("head")->get<std::int64_t>();
    const std::string model = text_field(row, "model");
    const std::int64_t layer = integer_field(row, "layer");
    grid.set(model, layer, head == nullptr ? LayerGrid::kWhole : *head, text_field(row, "matrix"),
             diff_cell(row, style));
    if (head != nullptr) continue;
    LayerSums& sums = layers[{model, layer}];
    sums.change += std::pow(expect<double>(row, "change_norm"), 2);
    sums.weight += std::pow(expect<double>(row, "weight_norm"), 2);
    if (!thresholds.empty()) continue;
    for (const auto& [name, rank] : expect<Record>(row, "energy_rank").fields()) {
      thresholds.push_back(name);
    }
  }
  for (const auto& [place, sums] : layers) {
    const double share = sums.weight > 0 ? std::sqrt(sums.change / sums.weight) : kNone;
    grid.set(place.first, place.second, LayerGrid::kWhole, kAll, percent(share));
  }
  grid.set_skipped(report, {""});
  grid.write(report, options, out);
  write_skipped(report, out);
  if (report.rows.empty()) return;
  write_legend("Number of singular values needed for " + join_words(thresholds) +
                   " of the energy of the change from " +
                   text_field(report.models.front(), "name") +
                   ". %: norm of the change relative to the norm of the base matrix. all: all "
                   "matrices of the layer together.",
               options, out);
}

}  // namespace attnscope
