// The table of activation patching: heat maps with one line per component and one column per
// position. Of heads, it shows those with the largest effects.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "attnscope/base/text.h"
#include "attnscope/features/all_tables.h"
#include "attnscope/features/common/certainty_marks.h"
#include "attnscope/rows/table/alignment.h"
#include "attnscope/rows/table/cells.h"
#include "attnscope/rows/table/layer_grid.h"
#include "attnscope/rows/table/style.h"

namespace attnscope {
namespace {

/// The number that cells show.
struct PatchingCells {
  std::string measure;    // "denoising_effect"
  bool is_share = false;  // shown in percent
  double largest = 1e-12;

  std::string text(const Record& row, const Style& style) const {
    const auto value = number_field(row, measure);
    if (!value) return style.dim("-");
    if (*value == 0 || is_insignificant(row, measure)) return style.dim("·");
    std::string shown =
        is_share ? fmt::format("{:.0f}", 100 * *value) : fmt::format("{:.2f}", *value);
    if (shown == "-0" || shown == "-0.00") shown.erase(0, 1);
    return style.shade(std::clamp(*value / largest, 0.0, 1.0), shown);
  }
};

/// One component with its rows, one per position.
struct PatchedLine {
  std::string title;
  std::vector<const Record*> rows;
  double largest = 0;  // absolute value of its cells
};

std::string patched_title(const Record& row) {
  const std::string component = text_field(row, "component");
  const std::int64_t layer = integer_field(row, "layer");
  if (row.find("head")->is_null()) return std::to_string(layer);
  const std::string head = fmt::format("L{}H{}", layer, integer_field(row, "head"));
  return component == "head" ? head : head + "." + component;
}

std::string place_title(const Record& row) {
  const std::string token = text_field(row, "token");
  if (row.find("position")->is_null()) return token.empty() ? "all positions" : printable(token);
  const std::string position = std::to_string(integer_field(row, "position"));
  if (token.empty()) return position;
  return position + " " + token_cell(row, "token", "position");
}

/// Whether rows have a value of the field.
bool any_number(const std::vector<const Record*>& rows, const std::string& field) {
  return std::ranges::any_of(
      rows, [&](const Record* row) { return number_field(*row, field).has_value(); });
}

PatchingCells cells_of(const std::vector<const Record*>& rows) {
  PatchingCells out;
  for (const char* measure :
       {"denoising_effect", "noising_effect", "denoising_change", "noising_change"}) {
    out.measure = measure;
    out.is_share = out.measure.ends_with("_effect");
    if (any_number(rows, measure)) break;
  }
  if (out.is_share) {
    out.largest = 1;
    return out;
  }
  for (const Record* row : rows) {
    out.largest = std::max(out.largest, number_field(*row, out.measure).value_or(0));
  }
  return out;
}

void write_heat_map(const std::string& title, const std::vector<const PatchedLine*>& shown,
                    const PatchingCells& cells, const Style& style, int width, std::ostream& out) {
  std::vector<std::vector<std::string>> lines(1);
  lines[0].push_back(style.bold(title));
  for (const Record* row : shown.front()->rows) lines[0].push_back(style.bold(place_title(*row)));
  for (const PatchedLine* patched : shown) {
    auto& line = lines.emplace_back();
    line.push_back(patched->title);
    for (const Record* row : patched->rows) line.push_back(cells.text(*row, style));
  }
  out << fold(lines, static_cast<std::size_t>(width)) << '\n';
}

void write_patched_model(const std::vector<const Record*>& rows, const PatchingCells& cells,
                         const Style& style, int width, std::ostream& out) {
  constexpr std::size_t kShown = 12;
  using Key = std::tuple<std::string, std::int64_t, std::int64_t>;
  std::vector<std::string> components;
  std::map<Key, PatchedLine> lines;
  for (const Record* row : rows) {
    const std::string component = text_field(*row, "component");
    if (std::ranges::find(components, component) == components.end()) {
      components.push_back(component);
    }
    PatchedLine& line =
        lines[{component, integer_field(*row, "layer"), integer_field(*row, "head", -1)}];
    if (line.rows.empty()) line.title = patched_title(*row);
    line.rows.push_back(row);
    line.largest = std::max(line.largest, std::abs(number_field(*row, cells.measure).value_or(0)));
  }
  for (const std::string& component : components) {
    std::vector<const PatchedLine*> shown;
    for (const auto& [key, line] : lines) {
      if (std::get<0>(key) == component) shown.push_back(&line);
    }
    const bool of_heads = !shown.front()->rows.front()->find("head")->is_null();
    if (of_heads) {
      std::ranges::stable_sort(shown, std::ranges::greater(),
                               [](const PatchedLine* line) { return line->largest; });
    }
    if (of_heads && shown.size() > kShown) {
      out << style.dim(fmt::format("{} of {} with the largest effects", kShown, shown.size()))
          << '\n';
      shown.resize(kShown);
    }
    write_heat_map(of_heads ? component : component + " of layer", shown, cells, style, width, out);
  }
}

}  // namespace

void write_ablate_patching_table(const Report& report, const WriteOptions& options,
                                 std::ostream& out) {
  const Style style(options.color);
  PatchingCells cells;
  for (const Record& model : report.models) {
    const std::string name = text_field(model, "name");
    const std::vector<const Record*> rows = rows_of_model(report, name);
    if (rows.empty()) continue;
    cells = cells_of(rows);
    out << style.bold(printable(name)) << "  " << style.dim(model_title(model)) << "\n\n";
    write_patched_model(rows, cells, style, options.width, out);
    out << fmt::format("{}: clean {}, corrupted {}, over {}\n\n",
                       text_field(report.parameters, "metric"),
                       number_text(*rows.front(), "clean_metric", "{:+.4f}"),
                       number_text(*rows.front(), "corrupted_metric", "{:+.4f}"),
                       counted(integer_field(*rows.front(), "prompts"), "prompt"));
  }
  if (report.rows.empty()) return;
  const bool denoised = cells.measure.starts_with("denoising");
  const std::string unit =
      cells.is_share ? "Share of the clean-corrupted gap (%) " : "Change of the metric ";
  write_legend(unit +
                   (denoised ? "restored by the clean activation in the corrupted run."
                             : "lost with the corrupted activation in the clean run.") +
                   " Each activation is patched alone, at this position. " +
                   insignificance_text(report.rows),
               options, out);
}

}  // namespace attnscope
