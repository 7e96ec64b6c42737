// The table of `circuits`: for each circuit a row per layer (sum over heads) and per head.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "attnscope/base/text.h"
#include "attnscope/features/all_tables.h"
#include "attnscope/rows/field.h"
#include "attnscope/rows/table/alignment.h"
#include "attnscope/rows/table/cells.h"
#include "attnscope/rows/table/skipped_lines.h"
#include "attnscope/rows/table/style.h"

namespace attnscope {
namespace {

/// The energy thresholds of ranks and rank drops, in ascending order.
std::vector<std::string> thresholds_of(const Report& report) {
  std::vector<std::string> thresholds;
  if (report.rows.empty()) return thresholds;
  for (const auto& [threshold, rank] :
       expect<Record>(report.rows.front(), "energy_rank").fields()) {
    thresholds.push_back(threshold);
  }
  return thresholds;
}

/// The entry of a map for a threshold; empty if it is null or absent.
std::optional<std::int64_t> count_at(const Record& row, std::string_view name,
                                     const std::string& threshold) {
  const Value* value = row.find(name);
  const Record* map = value == nullptr ? nullptr : value->get<Record>();
  const Value* entry = map == nullptr ? nullptr : map->find(threshold);
  const std::int64_t* count = entry == nullptr ? nullptr : entry->get<std::int64_t>();
  return count == nullptr ? std::nullopt : std::optional(*count);
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

/// The rank; for the highest threshold also its share of the maximum possible rank.
std::string circuit_rank_cell(const Record& row, const std::string& threshold, bool with_share,
                              const Style& style) {
  const auto count = count_at(row, "energy_rank", threshold);
  const std::int64_t possible = integer_field(row, "max_possible_rank");
  if (!count) return "-";
  const double share =
      possible == 0 ? 0 : static_cast<double>(*count) / static_cast<double>(possible);
  if (!with_share) return style.shade(share, std::to_string(*count));
  std::string bar = style.bar(share);
  if (!bar.empty()) bar = " " + bar;
  return fmt::format("{}{} {}", *count, bar,
                     style.shade(share, fmt::format("{:3.0f}%", 100 * share)));
}

constexpr const char* kOverlaps[] = {"rank_drop", "head_space_rank_drop"};
constexpr const char* kScores[] = {"identity_cosine", "symmetry", "positive_fraction",
                                   "copying_score"};

/// The column headings; with several thresholds, a second line shows the threshold.
std::vector<std::vector<std::string>> head_lines(const std::string& circuit,
                                                 const std::vector<std::string>& thresholds,
                                                 const Style& style) {
  std::vector<std::vector<std::string>> lines = {{style.bold(circuit)}, {style.bold("at")}};
  const auto add = [&](const char* field, const std::string& threshold) {
    lines[0].push_back(style.bold(heading("circuits", field)));
    lines[1].push_back(style.bold(threshold));
  };
  for (const std::string& threshold : thresholds) add("energy_rank", threshold);
  for (const char* field : kOverlaps) {
    for (const std::string& threshold : thresholds) add(field, threshold);
  }
  for (const char* field : kScores) add(field, "");
  if (thresholds.size() < 2) lines.pop_back();
  return lines;
}

std::vector<std::string> row_cells(const Record& row, const std::vector<std::string>& thresholds,
                                   const Style& style) {
  std::vector<std::string> cells;
  for (const std::string& threshold : thresholds) {
    cells.push_back(circuit_rank_cell(row, threshold, threshold == thresholds.back(), style));
  }
  for (const char* field : kOverlaps) {
    for (const std::string& threshold : thresholds) {
      const auto count = count_at(row, field, threshold);
      cells.push_back(count ? std::to_string(*count) : "-");
    }
  }
  cells.push_back(signed_cell(number_field(row, "identity_cosine"), style));
  cells.push_back(signed_cell(number_field(row, "symmetry"), style));
  cells.push_back(share_cell(number_field(row, "positive_fraction"), style));
  cells.push_back(signed_cell(number_field(row, "copying_score"), style));
  return cells;
}

std::string layer_head_text(std::int64_t layer, std::optional<std::int64_t> head,
                            const Style& style) {
  return head ? style.dim(fmt::format("  head {}", *head)) : std::to_string(layer);
}

/// Writes one circuit of a model: its rows by layer and head, including skipped ones.
void write_circuit(const Report& report, const std::string& model, const std::string& circuit,
                   const std::vector<std::string>& thresholds, const WriteOptions& options,
                   std::ostream& out) {
  const Style style(options.color);
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::string>> lines;
  for (const Record& row : report.rows) {
    if (text_field(row, "model") != model || text_field(row, "circuit") != circuit) continue;
    const std::int64_t head = integer_field(row, "head", -1);
    lines[{integer_field(row, "layer"), head}] = row_cells(row, thresholds, style);
  }
  for (const Skipped& skipped : report.skipped) {
    if (skipped.model != model || skipped.matrix != circuit) continue;
    lines[{skipped.layer.value_or(0), skipped.head.value_or(-1)}] = {"-"};
  }
  if (lines.empty()) return;
  std::vector<std::vector<std::string>> cells = head_lines(circuit, thresholds, style);
  for (const auto& [place, own] : lines) {
    auto& line = cells.emplace_back();
    const std::optional<std::int64_t> head =
        place.second < 0 ? std::nullopt : std::optional(place.second);
    line.push_back(layer_head_text(place.first, head, style));
    line.insert(line.end(), own.begin(), own.end());
  }
  const std::size_t each = thresholds.size();
  out << fold(cells, static_cast<std::size_t>(options.width),
              {each, each, each, std::size(kScores)})
      << '\n';
}

}  // namespace

void write_circuits_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  const Style style(options.color);
  const std::vector<std::string> thresholds = thresholds_of(report);
  for (const Record& model : report.models) {
    const std::string name = text_field(model, "name");
    out << style.bold(name) << "  " << style.dim(model_title(model)) << "\n\n";
    for (const char* circuit : {"qk", "ov"}) {
      write_circuit(report, name, circuit, thresholds, options, out);
    }
  }
  write_skipped(report, out);
  if (report.rows.empty()) return;
  write_legend(
      fmt::format("Energy thresholds: {}. drop: rank W_K (W_V) − rank of the circuit; in "
                  "head: rank W_Q (W_O) − rank of the product in head space. Layer rows: sum over "
                  "heads. Variant: {}",
                  join_words(thresholds), variant_text(report.parameters)),
      options, out, style.key("0", "±1"));
}

}  // namespace attnscope
