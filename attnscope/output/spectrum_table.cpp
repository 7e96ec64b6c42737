// `spectrum` for people: a row per layer, a column per matrix, each cell the energy rank at the
// highest threshold and how full of the possible rank that is. Several models stand side by side.
#include <fmt/format.h>

#include <map>
#include <optional>

#include "attnscope/core/text.h"
#include "attnscope/output/model_columns.h"
#include "attnscope/output/skipped_lines.h"
#include "attnscope/output/spectrum_cells.h"
#include "attnscope/output/tables.h"
#include "attnscope/output/terminal.h"
#include "attnscope/results/field.h"

namespace attnscope {
namespace {

std::string rank_table(const Columns& columns, const std::string& threshold, const Style& style) {
  Lines lines = naming_lines(columns, heading("spectrum", "energy_at_rank"), style);
  // Under the ranks: as far from the right as the bar and the percentage after a rank.
  const std::size_t after = display_width(cell_text({}, style)) - 1;
  for (const bool of_heads : {false, true}) {
    if (of_heads && !has_heads(columns)) continue;
    const std::string ending = of_heads ? ", a head" : "";
    const auto add = [&](const std::string& label, auto number_of) {
      add_head_line(lines, label + ending, columns, of_heads, after, style,
                    [&](const Column&, const Record& row) {
                      const std::optional<std::int64_t> number =
                          number_of(rank_cell(row, threshold));
                      return number ? std::to_string(*number) : "";
                    });
    };
    add(heading("spectrum", "possible_rank"),
        [](const RankCell& cell) { return std::optional(cell.possible); });
    add(heading("spectrum", "null_energy_rank"), [](const RankCell& cell) { return cell.null; });
  }
  std::map<std::pair<const ModelTable*, std::string>, RankCell> totals;
  add_place_lines(lines, columns, style,
                  [&](const Column& column, const Place& place, const Record* row) -> std::string {
                    if (row == nullptr) return "-";
                    const RankCell cell = rank_cell(*row, threshold);
                    if (place.second == kWhole) totals[{column.model, column.matrix}] += cell;
                    return cell_text(cell, style);
                  });
  auto& line = lines.emplace_back(std::vector<std::string>{style.bold("total")});
  for (const Column& column : columns) {
    const auto total = totals.find({column.model, column.matrix});
    add_cell(line, columns, column, total == totals.end() ? "-" : cell_text(total->second, style));
  }
  return align(lines);
}

std::string energy_table(const Columns& columns, const Style& style) {
  Lines lines = naming_lines(columns, heading("spectrum", "energy_at_rank"), style);
  const auto text_of = [](const Column& column, const Record& row, const char* field) {
    const Value* value = expect<Record>(row, field).find(column.key);
    const auto* share = value == nullptr ? nullptr : value->get<double>();
    return share == nullptr ? std::string("-") : share_text(*share);
  };
  for (const bool of_heads : {false, true}) {
    if (of_heads && !has_heads(columns)) continue;
    const std::string label = heading("spectrum", "null_energy_at_rank");
    add_head_line(lines, label + (of_heads ? ", a head" : ""), columns, of_heads, /*after=*/0,
                  style, [&](const Column& column, const Record& row) {
                    return text_of(column, row, "null_energy_at_rank");
                  });
  }
  add_place_lines(lines, columns, style,
                  [&](const Column& column, const Place&, const Record* row) {
                    return row == nullptr ? "-" : text_of(column, *row, "energy_at_rank");
                  });
  return align(lines);
}

constexpr const char* kTensorMeasures[] = {"stable_rank", "entropy_rank", "spectral_norm",
                                           "frobenius_norm"};

/// Rows of `--tensor`, which have no layer: one line for each model, all measures.
void write_tensor_rows(const Report& report, const WriteOptions& options, std::ostream& out) {
  const Style style(options.color);
  Lines lines;
  for (const Record& row : report.rows) {
    const Record& ranks = expect<Record>(row, "energy_rank");
    const Value* energies = row.find("energy_at_rank");
    if (lines.empty()) {
      auto& head =
          lines.emplace_back(std::vector<std::string>{style.bold(heading("tensor", "model"))});
      for (const auto& [threshold, rank] : ranks.fields()) {
        head.push_back(style.bold(heading("tensor", "energy_rank") + ' ' + threshold));
        head.push_back(style.bold(heading("tensor", "null_energy_rank")));
      }
      head.push_back(style.bold(heading("tensor", "possible_rank")));
      if (energies != nullptr) {
        for (const auto& [rank, energy] : expect<Record>(*energies, "energy_at_rank").fields()) {
          head.push_back(style.bold(heading("tensor", "energy_at_rank") + ' ' + rank));
        }
      }
      for (const char* name : kTensorMeasures) head.push_back(style.bold(heading("tensor", name)));
    }
    auto& line = lines.emplace_back(std::vector<std::string>{text_field(row, "model")});
    for (const auto& [threshold, rank] : ranks.fields()) {
      const RankCell cell = rank_cell(row, threshold);
      line.push_back(cell_text(cell, style));
      line.push_back(style.dim(cell.null ? std::to_string(*cell.null) : "-"));
    }
    line.push_back(std::to_string(integer_field(row, "possible_rank")));
    if (energies != nullptr) {
      for (const auto& [rank, energy] : expect<Record>(*energies, "energy_at_rank").fields()) {
        const auto* share = energy.get<double>();
        line.push_back(share == nullptr ? "-" : share_text(*share));
      }
    }
    for (const char* name : kTensorMeasures) {
      const Value* value = row.find(name);
      const auto* number = value == nullptr ? nullptr : value->get<double>();
      line.push_back(number == nullptr ? "-" : fmt::format("{:.4g}", *number));
    }
  }
  for (const Skipped& skipped : report.skipped) lines.push_back({skipped.model, "-"});
  out << fold(lines, static_cast<std::size_t>(options.width));
}

/// The keys of a row's map, of the first row that there is.
std::vector<std::string> keys_of(const Report& report, const char* field) {
  std::vector<std::string> keys;
  const Value* map = report.rows.empty() ? nullptr : report.rows.front().find(field);
  if (map == nullptr) return keys;
  for (const auto& [key, value] : expect<Record>(*map, field).fields()) keys.push_back(key);
  return keys;
}

}  // namespace

void write_spectrum_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  if (report.parameters.find("mla") != nullptr) return write_mla_table(report, options, out);
  const Style style(options.color);
  // Thresholds ascend.
  const std::vector<std::string> thresholds = keys_of(report, "energy_rank");
  const std::string threshold = thresholds.empty() ? "" : thresholds.back();
  if (const Value* tensor = report.parameters.find("tensor")) {
    out << style.bold(printable(expect<std::string>(*tensor, "tensor"))) << "\n\n";
    write_tensor_rows(report, options, out);
    out << '\n';
  } else {
    const TableKind kinds[] = {
        {{""}, [&](const Columns& columns) { return rank_table(columns, threshold, style); }},
        {keys_of(report, "energy_at_rank"),
         [&](const Columns& columns) { return energy_table(columns, style); }}};
    write_models(report, options, kinds, out);
  }
  write_skipped(report, out);
  if (threshold.empty()) return;
  out << style.dim(
             fmt::format("Singular values that hold {} of the squared sum; %: of the possible "
                         "rank; null: random numbers'",
                         threshold))
      << style.key("0", "null") << '\n';
}

}  // namespace attnscope
