// `spectrum` for people: a row per layer, a column per matrix, each cell the energy rank at the
// highest threshold and how full of the possible rank that is.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "attnscope/core/role.h"
#include "attnscope/core/text.h"
#include "attnscope/output/terminal.h"
#include "attnscope/output/writers.h"

namespace attnscope {
namespace {

constexpr std::int64_t kWhole = -1;  // in place of a head

struct Cell {
  std::int64_t rank = 0;
  std::int64_t possible = 0;
};

/// One model's rows, ready to be laid out.
struct ModelTable {
  std::set<std::string> matrices;
  std::map<std::pair<std::int64_t, std::int64_t>, std::map<std::string, std::optional<Cell>>> cells;

  void add(std::int64_t layer, std::int64_t head, const std::string& matrix,
           std::optional<Cell> cell) {
    matrices.insert(matrix);
    cells[{layer, head}][matrix] = cell;
  }
};

/// The columns of a table: the matrices in the order in which they were asked for, or the usual
/// one.
std::vector<std::string> columns_of(const ModelTable& table, const Report& report) {
  std::vector<std::string> order = role_names();
  const Value* asked = report.parameters.find("matrix");
  if (const auto* names = asked == nullptr ? nullptr : asked->get<Value::List>()) {
    order.clear();
    for (const Value& name : *names) order.push_back(*name.get<std::string>());
  }
  std::erase_if(order, [&](const std::string& name) { return !table.matrices.contains(name); });
  return order;
}

/// The last key of `energy_rank`: thresholds ascend.
std::string highest_threshold(const Report& report) {
  for (const Record& row : report.rows) {
    const Value* ranks = row.find("energy_rank");
    if (ranks != nullptr && ranks->get<Record>() != nullptr) {
      return ranks->get<Record>()->fields().back().first;
    }
  }
  return "";
}

Cell cell_of(const Record& row, const std::string& threshold) {
  const Record& ranks = *row.find("energy_rank")->get<Record>();
  return {integer_field(ranks, threshold), integer_field(row, "possible_rank")};
}

double share(const Cell& cell) {
  return cell.possible == 0 ? 0
                            : static_cast<double>(cell.rank) / static_cast<double>(cell.possible);
}

std::string cell_text(const Cell& cell, const Style& style) {
  const std::string percent = fmt::format("{:3.0f}%", 100 * share(cell));
  std::string bar = style.bar(share(cell));
  if (!bar.empty()) bar = " " + bar;
  return std::to_string(cell.rank) + bar + " " + style.shade(share(cell), percent);
}

/// The possible rank, where all of a column's whole matrices (or all its heads) have the same.
std::string possible_text(const ModelTable& table, const std::string& matrix, bool of_heads) {
  std::set<std::int64_t> possible;
  for (const auto& [place, cells] : table.cells) {
    if ((place.second != kWhole) != of_heads) continue;
    const auto found = cells.find(matrix);
    if (found != cells.end() && found->second) possible.insert(found->second->possible);
  }
  return possible.size() == 1 ? std::to_string(*possible.begin()) : "";
}

std::string title(const Record& model) {
  std::string text = text_field(model, "architecture");
  if (text.empty()) return "";
  const auto add = [&](const std::string& part) { text += ", " + part; };
  add(fmt::format("{} layers", integer_field(model, "layers")));
  const std::int64_t heads = integer_field(model, "heads"), kv = integer_field(model, "kv_heads");
  add(fmt::format("{} heads", heads) + (kv == heads ? "" : fmt::format(" ({} key/value)", kv)) +
      fmt::format(" of {}", integer_field(model, "head_dim")));
  add(fmt::format("width {}", integer_field(model, "width")));
  add(text_field(model, "dtype"));
  return text;
}

void write_model(const ModelTable& table, const std::vector<std::string>& columns,
                 const Style& style, std::ostream& out) {
  const bool has_heads = std::any_of(table.cells.begin(), table.cells.end(), [](const auto& entry) {
    return entry.first.second != kWhole;
  });
  std::vector<std::vector<std::string>> lines(1);
  lines[0].push_back(style.bold("layer"));
  for (const std::string& matrix : columns) lines[0].push_back(style.bold(matrix));
  const auto add_possible = [&](const char* label, bool of_heads) {
    std::vector<std::string> line = {style.dim(label)};
    for (const std::string& matrix : columns) {
      const std::string possible = possible_text(table, matrix, of_heads);
      // Under the ranks: as far from the right as the bar and the percentage after a rank.
      const std::size_t after_rank = possible.empty() ? 0 : display_width(cell_text({}, style)) - 1;
      line.push_back(style.dim(possible) + std::string(after_rank, ' '));
    }
    lines.push_back(std::move(line));
  };
  add_possible("of", false);
  if (has_heads) add_possible("of, a head", true);

  std::map<std::string, Cell> totals;
  for (const auto& [place, cells] : table.cells) {
    const auto& [layer, head] = place;
    std::vector<std::string> line = {head == kWhole ? std::to_string(layer)
                                                    : style.dim(fmt::format("  head {}", head))};
    for (const std::string& matrix : columns) {
      const auto found = cells.find(matrix);
      if (found == cells.end()) {
        line.emplace_back();
        continue;
      }
      line.push_back(found->second ? cell_text(*found->second, style) : "-");
      if (head != kWhole || !found->second) continue;
      totals[matrix].rank += found->second->rank;
      totals[matrix].possible += found->second->possible;
    }
    lines.push_back(std::move(line));
  }
  std::vector<std::string> line = {style.bold("total")};
  for (const std::string& matrix : columns) {
    line.push_back(totals.count(matrix) ? cell_text(totals[matrix], style) : "-");
  }
  lines.push_back(std::move(line));
  out << align(lines);
}

/// Rows of `--tensor`, which have no layer: one line for each model, all measures.
void write_tensor_rows(const Report& report, const Style& style, std::ostream& out) {
  std::vector<std::vector<std::string>> lines;
  for (const Record& row : report.rows) {
    const Record& ranks = *row.find("energy_rank")->get<Record>();
    if (lines.empty()) {
      auto& head = lines.emplace_back(std::vector<std::string>{style.bold("model")});
      for (const auto& [threshold, rank] : ranks.fields()) {
        head.push_back(style.bold("rank at " + threshold));
      }
      for (const char* name : {"of", "stable", "entropy", "largest", "Frobenius"}) {
        head.push_back(style.bold(name));
      }
    }
    auto& line = lines.emplace_back(std::vector<std::string>{text_field(row, "model")});
    for (const auto& [threshold, rank] : ranks.fields()) {
      line.push_back(cell_text(cell_of(row, threshold), style));
    }
    line.push_back(std::to_string(integer_field(row, "possible_rank")));
    for (const char* name : {"stable_rank", "entropy_rank", "spectral_norm", "frobenius_norm"}) {
      const auto* number = row.find(name)->get<double>();
      line.push_back(number == nullptr ? "-" : fmt::format("{:.4g}", *number));
    }
  }
  for (const Skipped& skipped : report.skipped) lines.push_back({skipped.model, "-"});
  out << align(lines);
}

void write_skipped(const Report& report, std::ostream& out) {
  for (const Skipped& skipped : report.skipped) {
    out << "skipped: " << skipped.model << ": " << printable(skipped.matrix);
    if (skipped.layer) out << " of layer " << *skipped.layer;
    if (skipped.head) out << ", head " << *skipped.head;
    out << ": " << skipped.reason << '\n';
  }
}

}  // namespace

void write_spectrum_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  const Style style(options.color);
  const std::string threshold = highest_threshold(report);
  if (const Value* tensor = report.parameters.find("tensor")) {
    out << style.bold(printable(*tensor->get<std::string>())) << "\n\n";
    write_tensor_rows(report, style, out);
    out << '\n';
  } else {
    std::map<std::string, ModelTable> tables;
    for (const Record& row : report.rows) {
      tables[text_field(row, "model")].add(integer_field(row, "layer"),
                                           integer_field(row, "head", kWhole),
                                           text_field(row, "matrix"), cell_of(row, threshold));
    }
    for (const Skipped& skipped : report.skipped) {
      tables[skipped.model].add(skipped.layer.value_or(0), skipped.head.value_or(kWhole),
                                skipped.matrix, std::nullopt);
    }
    for (const Record& model : report.models) {
      const std::string name = text_field(model, "name");
      if (tables[name].matrices.empty()) continue;
      out << style.bold(name) << "  " << style.dim(title(model)) << "\n\n";
      write_model(tables[name], columns_of(tables[name], report), style, out);
      out << '\n';
    }
  }
  write_skipped(report, out);
  if (threshold.empty()) return;
  out << style.dim(fmt::format(
             "Energy rank at {}: how many singular values hold that share of the squared sum; "
             "% of the largest possible rank.",
             threshold))
      << '\n';
}

}  // namespace attnscope
