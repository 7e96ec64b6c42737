// Table of `spectrum`: one row per layer. For each matrix, the energy rank at every threshold, and
// the last one as a share of the maximum possible rank. Several models are shown side by side.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "attnscope/base/text.h"
#include "attnscope/features/all_tables.h"
#include "attnscope/features/spectrum/model_columns.h"
#include "attnscope/rows/field.h"
#include "attnscope/rows/table/alignment.h"
#include "attnscope/rows/table/cells.h"
#include "attnscope/rows/table/layer_grid.h"
#include "attnscope/rows/table/models.h"
#include "attnscope/rows/table/skipped_lines.h"
#include "attnscope/rows/table/style.h"

namespace attnscope {
namespace {

/// Total over the whole matrices of a column; shared matrices are counted once.
class Total {
 public:
  void add(const Column& column, std::int64_t layer, const RankCell& cell) {
    if (counted_.insert(first_with_same(column.model->facts, column.matrix, layer)).second) {
      sum_ += cell;
    }
  }
  const RankCell& sum() const { return sum_; }
  bool empty() const { return counted_.empty(); }

 private:
  std::set<std::int64_t> counted_;  // first layer with each matrix
  RankCell sum_;
};

/// `threshold`: used by columns without a key, if only one was requested.
std::string rank_table(const Columns& columns, const std::string& threshold, const Style& style) {
  const auto cell_of = [&](const Column& column, const Record& row) {
    return rank_cell(row, column.key.empty() ? threshold : column.key);
  };
  const auto text_of = [&](const Column& column, const RankCell& cell) {
    if (!is_last_key(columns, column)) return rank_text(cell, style);
    // With several thresholds, only the color shows the share of the random baseline.
    return cell_text(cell, style, /*with_bar=*/column.key.empty());
  };
  // Aligns texts with the ranks, before the bar and the percentage.
  const auto after = [&](const Column& column) { return display_width(text_of(column, {})) - 1; };
  Lines lines = candidate_lines(columns, heading("spectrum", "energy_rank"), after, style);
  for (const bool of_heads : {false, true}) {
    if (of_heads && !has_heads(columns)) continue;
    const std::string ending = of_heads ? ", per head" : "";
    const auto add = [&](const std::string& label, auto number_of) {
      add_head_line(lines, label + ending, columns, of_heads, after, style,
                    [&](const Column& column, const Record& row) {
                      const std::optional<std::int64_t> number =
                          number_of(column, cell_of(column, row));
                      return number ? std::to_string(*number) : "";
                    });
    };
    // Once per matrix, in the column with its percentage.
    add(heading("spectrum", "max_possible_rank"), [&](const Column& column, const RankCell& cell) {
      return is_last_key(columns, column) ? std::optional(cell.possible) : std::nullopt;
    });
    add(heading("spectrum", "random_energy_rank"),
        [](const Column&, const RankCell& cell) { return cell.null; });
  }
  std::map<const Column*, Total> totals;
  add_place_lines(
      lines, columns, style,
      [&](const Column& column, const LayerHead& place, const Record* row) -> std::string {
        if (row == nullptr) return "-";
        const RankCell cell = cell_of(column, *row);
        if (place.second == kWhole) totals[&column].add(column, place.first, cell);
        return text_of(column, cell);
      });
  auto& line = lines.emplace_back(std::vector<std::string>{style.bold("total")});
  for (const Column& column : columns) {
    const Total& total = totals[&column];
    add_cell(line, columns, column, total.empty() ? "-" : text_of(column, total.sum()));
  }
  return align(lines);
}

std::string energy_table(const Columns& columns, const Style& style) {
  const auto after = [](const Column&) { return std::size_t{0}; };
  Lines lines = candidate_lines(columns, heading("spectrum", "energy_at_rank"), after, style);
  const auto text_of = [](const Column& column, const Record& row, const char* field) {
    const auto share = number_field(expect<Record>(row, field), column.key);
    return share ? share_text(*share) : "-";
  };
  for (const bool of_heads : {false, true}) {
    if (of_heads && !has_heads(columns)) continue;
    const std::string label = heading("spectrum", "random_energy_at_rank");
    add_head_line(lines, label + (of_heads ? ", per head" : ""), columns, of_heads, after, style,
                  [&](const Column& column, const Record& row) {
                    return text_of(column, row, "random_energy_at_rank");
                  });
  }
  add_place_lines(lines, columns, style,
                  [&](const Column& column, const LayerHead&, const Record* row) {
                    return row == nullptr ? "-" : text_of(column, *row, "energy_at_rank");
                  });
  return align(lines);
}

constexpr const char* kTensorMeasures[] = {"stable_rank", "effective_rank", "spectral_norm",
                                           "frobenius_norm"};

/// Rows of `--tensor`, which have no layer: one line per model with all measures.
void write_tensor_rows(const Report& report, const WriteOptions& options, std::ostream& out) {
  const Style style(options.color);
  Lines lines;
  std::vector<std::size_t> groups;  // columns of a threshold, and each other column
  for (const Record& row : report.rows) {
    const Record& ranks = expect<Record>(row, "energy_rank");
    const Value* energies = row.find("energy_at_rank");
    if (lines.empty()) {
      auto& head =
          lines.emplace_back(std::vector<std::string>{style.bold(heading("tensor", "model"))});
      for (const auto& [threshold, rank] : ranks.fields()) {
        head.push_back(style.bold(heading("tensor", "energy_rank") + ' ' + threshold));
        head.push_back(style.bold(heading("tensor", "random_energy_rank")));
        groups.push_back(2);
      }
      head.push_back(style.bold(heading("tensor", "max_possible_rank")));
      if (energies != nullptr) {
        for (const auto& [rank, energy] : expect<Record>(*energies, "energy_at_rank").fields()) {
          head.push_back(style.bold(heading("tensor", "energy_at_rank") + ' ' + rank));
        }
      }
      for (const char* name : kTensorMeasures) head.push_back(style.bold(heading("tensor", name)));
      groups.resize(groups.size() + head.size() - 1 - 2 * groups.size(), 1);
    }
    auto& line = lines.emplace_back(std::vector<std::string>{text_field(row, "model")});
    for (const auto& [threshold, rank] : ranks.fields()) {
      const RankCell cell = rank_cell(row, threshold);
      line.push_back(cell_text(cell, style));
      line.push_back(style.dim(cell.null ? std::to_string(*cell.null) : "-"));
    }
    line.push_back(std::to_string(integer_field(row, "max_possible_rank")));
    if (energies != nullptr) {
      for (const auto& [rank, energy] : expect<Record>(*energies, "energy_at_rank").fields()) {
        const auto* share = energy.get<double>();
        line.push_back(share == nullptr ? "-" : share_text(*share));
      }
    }
    for (const char* name : kTensorMeasures) {
      const auto number = number_field(row, name);
      line.push_back(number ? fmt::format("{:.4g}", *number) : "-");
    }
  }
  for (const Skipped& skipped : report.skipped) lines.push_back({skipped.model, "-"});
  if (lines.empty()) return;
  out << fold(lines, static_cast<std::size_t>(options.width), std::move(groups));
}

/// Explains numbers of MoE layers: a row summarizes the measured experts.
std::string experts_words(const Report& report) {
  std::int64_t least = 0, most = 0;
  for (const Record& row : report.rows) {
    const Value* experts = row.find("experts");
    if (experts == nullptr) continue;
    const auto count = expect<std::int64_t>(*experts, "experts");
    least = least == 0 ? count : std::min(least, count);
    most = std::max(most, count);
  }
  if (most == 0) return "";
  const std::string many =
      least == most ? std::to_string(most) : fmt::format("{} to {}", least, most);
  return fmt::format(" MoE layers: median over {} experts.", many);
}

/// Explains the numbers. There is at least one threshold; totals are mentioned if present.
std::string spectrum_legend(const Report& report, const std::vector<std::string>& thresholds) {
  const bool shared = std::any_of(report.models.begin(), report.models.end(), shares_weights);
  return fmt::format(
      "Number of singular values needed for {} of the energy. %: of the maximum possible rank. "
      "random: Gaussian matrix of the same shape.{}{}",
      join_words(thresholds), experts_words(report),
      shared ? " total: counts shared matrices once." : "");
}

/// The keys of a map field, taken from the first row.
std::vector<std::string> keys_of(const Report& report, const char* field) {
  std::vector<std::string> keys;
  const Value* map = report.rows.empty() ? nullptr : report.rows.front().find(field);
  if (map == nullptr) return keys;
  for (const auto& [key, value] : expect<Record>(*map, field).fields()) keys.push_back(key);
  return keys;
}

}  // namespace

void write_spectrum_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  const Style style(options.color);
  const std::vector<std::string> thresholds = keys_of(report, "energy_rank");
  if (const Value* tensor = report.parameters.find("tensor")) {
    out << style.bold(printable(expect<std::string>(*tensor, "tensor"))) << "\n\n";
    write_tensor_rows(report, options, out);
    out << '\n';
  } else {
    const std::string only = thresholds.size() == 1 ? thresholds.front() : "";
    const TableKind kinds[] = {
        {thresholds.size() > 1 ? thresholds : std::vector<std::string>{""},
         [&](const Columns& columns) { return rank_table(columns, only, style); }},
        {keys_of(report, "energy_at_rank"),
         [&](const Columns& columns) { return energy_table(columns, style); }}};
    write_models(report, options, kinds, out);
  }
  write_skipped(report, out);
  if (thresholds.empty()) return;
  write_legend(spectrum_legend(report, thresholds), options, out, style.key("0", "random"));
}

// Table of `spectrum --activations`: one row per layer. For each matrix, the ranks of its weights,
// of its outputs on the text, and of its inputs.
namespace {

std::int64_t rank_at_last_threshold(const Record& row, std::string_view name) {
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
        static_cast<double>(std::max<std::int64_t>(1, integer_field(row, "max_possible_rank")));
    const std::int64_t given = rank_at_last_threshold(row, "activation_energy_rank");
    const std::string ranks =
        fmt::format("{:>4} {:>4} {:>4}", rank_at_last_threshold(row, "energy_rank"), given,
                    rank_at_last_threshold(row, "input_energy_rank"));
    grid.set(text_field(row, "model"), integer_field(row, "layer"), LayerGrid::kWhole,
             text_field(row, "matrix"), style.shade(static_cast<double>(given) / possible, ranks));
  }
  grid.set_skipped(report, {""});
  grid.write(report, options, out);
  write_skipped(report, out);
  if (report.rows.empty()) return;
  write_legend("Number of directions needed for " + threshold +
                   " of the energy, in this order: of the weights, of the outputs on the text, of "
                   "the inputs.",
               options, out);
}

}  // namespace attnscope
