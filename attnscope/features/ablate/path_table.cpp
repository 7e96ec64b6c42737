// The table of path patching: the paths with the largest effects, next to composition by weights.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "attnscope/base/text.h"
#include "attnscope/features/all_tables.h"
#include "attnscope/features/common/certainty_marks.h"
#include "attnscope/rows/field.h"
#include "attnscope/rows/table/alignment.h"
#include "attnscope/rows/table/cells.h"
#include "attnscope/rows/table/layer_grid.h"
#include "attnscope/rows/table/style.h"

namespace attnscope {
namespace {

/// A share of the gap in percent, or the change of the metric if there are no shares.
std::string path_effect(const Record& row, const std::string& name, const Style& style) {
  const auto shaded = [&](const std::string& text, const char* measure) {
    return is_insignificant(row, name + measure) ? style.dim("· " + text) : text;
  };
  if (number_field(row, name + "_effect")) {
    const double share = 100 * number_or_nan(row, name + "_effect");
    const auto error = number_field(row, name + "_effect_error");
    return shaded(
        fmt::format("{:+.1f}%", share) + (error ? fmt::format(" ±{:.1f}", 100 * *error) : ""),
        "_effect");
  }
  return shaded(mean_and_error(row, name + "_change", "{:+.4f}", "{:.4f}"), "_change");
}

double path_size(const Record& row) {
  for (const char* name :
       {"denoising_effect", "noising_effect", "denoising_change", "noising_change"}) {
    if (const auto value = number_field(row, name)) return std::abs(*value);
  }
  return 0;
}

void write_paths_of(std::vector<const Record*> rows, const Style& style, std::ostream& out) {
  constexpr std::size_t kShown = 24;
  std::ranges::stable_sort(rows, std::ranges::greater(),
                           [](const Record* row) { return path_size(*row); });
  std::vector<std::vector<std::string>> lines = {
      {style.bold("sender"), style.bold("receiver"), style.bold("denoising effect"),
       style.bold("noising effect"), style.bold("composition")}};
  for (std::size_t at = 0; at < std::min(kShown, rows.size()); ++at) {
    const Record& row = *rows[at];
    lines.push_back({printable(text_field(row, "sender")), printable(text_field(row, "receiver")),
                     path_effect(row, "denoising", style), path_effect(row, "noising", style),
                     number_text(row, "composition", "{:.3f}")});
  }
  out << align(lines, 2);
  if (rows.size() > kShown) {
    out << style.dim(fmt::format("{} paths with smaller effects not shown", rows.size() - kShown))
        << '\n';
  }
}

}  // namespace

void write_path_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  const Style style(options.color);
  for (const Record& model : report.models) {
    const std::string name = text_field(model, "name");
    const std::vector<const Record*> rows = rows_of_model(report, name);
    if (rows.empty()) continue;
    out << style.bold(printable(name)) << "  " << style.dim(model_title(model)) << "\n\n";
    write_paths_of(rows, style, out);
    out << fmt::format("\n{}: clean {}, corrupted {}, over {}\n\n",
                       text_field(report.parameters, "metric"),
                       number_text(*rows.front(), "clean_metric", "{:+.4f}"),
                       number_text(*rows.front(), "corrupted_metric", "{:+.4f}"),
                       counted(integer_field(*rows.front(), "prompts"), "prompt"));
  }
  if (report.rows.empty()) return;
  write_legend(
      "Share of the clean-corrupted gap that the path from the senders to the receivers restores "
      "(denoising) or destroys (noising). Outside the path, all heads and MLPs before the "
      "receivers "
      "keep their outputs. composition: from the weights, mean over pairs of heads.",
      options, out);
}

}  // namespace attnscope
