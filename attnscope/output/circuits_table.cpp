// `circuits` for people: for each circuit a row per layer (the sum over heads) and per head.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "attnscope/output/circuit_cells.h"
#include "attnscope/output/skipped_lines.h"
#include "attnscope/output/spectrum_cells.h"
#include "attnscope/output/tables.h"
#include "attnscope/output/terminal.h"
#include "attnscope/results/field.h"

namespace attnscope {
namespace {

/// The last key of a map of thresholds, which ascend, and its value.
const std::pair<std::string, Value>* highest(const Record& row, std::string_view name) {
  const Value* value = row.find(name);
  const Record* map = value == nullptr ? nullptr : value->get<Record>();
  return map == nullptr || map->fields().empty() ? nullptr : &map->fields().back();
}

std::string signed_cell(const std::optional<double>& score, const Style& style) {
  if (!score) return "-";
  // Rounded first, so that no cell shows a negative zero.
  const double rounded = std::round(*score * 100) / 100 + 0.0;
  return style.shade(std::abs(rounded), fmt::format("{:+.2f}", rounded));
}

std::string share_cell(const std::optional<double>& share, const Style& style) {
  return share ? style.shade(*share, fmt::format("{:.2f}", *share)) : "-";
}

std::string circuit_rank_cell(const Record& row, const Style& style) {
  const auto* rank = highest(row, "energy_rank");
  const std::int64_t* count = rank == nullptr ? nullptr : rank->second.get<std::int64_t>();
  const std::int64_t possible = integer_field(row, "possible_rank");
  if (count == nullptr) return "-";
  const double share =
      possible == 0 ? 0 : static_cast<double>(*count) / static_cast<double>(possible);
  std::string bar = style.bar(share);
  if (!bar.empty()) bar = " " + bar;
  return fmt::format("{}{} {}", *count, bar,
                     style.shade(share, fmt::format("{:3.0f}%", 100 * share)));
}

std::string overlap_cell(const Record& row, std::string_view name) {
  const auto* overlap = highest(row, name);
  const std::int64_t* count = overlap == nullptr ? nullptr : overlap->second.get<std::int64_t>();
  return count == nullptr ? "-" : std::to_string(*count);
}

/// The columns after the circuit's name.
constexpr const char* kColumns[] = {"energy_rank",     "overlap",  "head_space_overlap",
                                    "identity_cosine", "symmetry", "positive_fraction",
                                    "copying_score"};

std::vector<std::string> row_cells(const Record& row, const Style& style) {
  return {circuit_rank_cell(row, style),
          overlap_cell(row, "overlap"),
          overlap_cell(row, "head_space_overlap"),
          signed_cell(number_of(row, "identity_cosine"), style),
          signed_cell(number_of(row, "symmetry"), style),
          share_cell(number_of(row, "positive_fraction"), style),
          signed_cell(number_of(row, "copying_score"), style)};
}

std::string place_text(std::int64_t layer, std::optional<std::int64_t> head, const Style& style) {
  return head ? style.dim(fmt::format("  head {}", *head)) : std::to_string(layer);
}

/// One circuit of one model: rows in the report's order, what was skipped after its layer's.
void write_circuit(const Report& report, const std::string& model, const std::string& circuit,
                   const Style& style, std::ostream& out) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::string>> lines;
  for (const Record& row : report.rows) {
    if (text_field(row, "model") != model || text_field(row, "circuit") != circuit) continue;
    const std::int64_t head = integer_field(row, "head", -1);
    lines[{integer_field(row, "layer"), head}] = row_cells(row, style);
  }
  for (const Skipped& skipped : report.skipped) {
    if (skipped.model != model || skipped.matrix != circuit) continue;
    lines[{skipped.layer.value_or(0), skipped.head.value_or(-1)}] = {"-"};
  }
  if (lines.empty()) return;
  std::vector<std::vector<std::string>> cells(1);
  cells[0].push_back(style.bold(circuit));
  for (const char* field : kColumns) cells[0].push_back(style.bold(heading("circuits", field)));
  for (const auto& [place, own] : lines) {
    auto& line = cells.emplace_back();
    const std::optional<std::int64_t> head =
        place.second < 0 ? std::nullopt : std::optional(place.second);
    line.push_back(place_text(place.first, head, style));
    line.insert(line.end(), own.begin(), own.end());
  }
  out << align(cells) << '\n';
}

void write_measures(const Report& report, const Style& style, std::ostream& out) {
  for (const Record& model : report.models) {
    const std::string name = text_field(model, "name");
    out << style.bold(name) << "  " << style.dim(model_title(model)) << "\n\n";
    for (const char* circuit : {"qk", "ov"}) write_circuit(report, name, circuit, style, out);
  }
  write_skipped(report, out);
  if (report.rows.empty()) return;
  const auto* ranks = highest(report.rows.front(), "energy_rank");
  out << style.dim(fmt::format(
             "At energy {}; overlap: rank of K (V) less the circuit's, in head: of Q (O) "
             "less that in the\nheads' space; a layer: the sum of its heads; {}",
             ranks == nullptr ? "" : ranks->first, variant_text(report.parameters)))
      << style.key("0", "±1") << '\n';
}

}  // namespace

void write_circuits_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  write_measures(report, Style(options.color), out);
}

}  // namespace attnscope
