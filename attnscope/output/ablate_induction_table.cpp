// `ablate --induction` for people: what induction heads are without each earlier head.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "attnscope/core/text.h"
#include "attnscope/output/layer_grid.h"
#include "attnscope/output/legend.h"
#include "attnscope/output/table_parts.h"
#include "attnscope/output/tables.h"
#include "attnscope/output/terminal.h"

namespace attnscope {
namespace {

std::string head_title(const Record& row, const char* layer, const char* head) {
  return fmt::format("L{}H{}", integer_field(row, layer), integer_field(row, head));
}

double change_in(const Record& row) {
  const double change = number_or_nan(row, "induction") - number_or_nan(row, "induction_before");
  return std::isnan(change) ? 0 : std::abs(change);
}

std::string from_to(const Record& row) {
  return number_text(row, "induction_before", "{:.2f}") + " → " +
         number_text(row, "induction", "{:.2f}");
}

std::string percent_text(double share) { return fmt::format("{:.1f}%", 100 * share); }

/// A line for each head that is replaced, with the later head that changes most.
void write_everywhere(const std::vector<const Record*>& rows, const Style& style,
                      std::ostream& out) {
  std::map<std::pair<std::int64_t, std::int64_t>, const Record*> most;
  for (const Record* row : rows) {
    const Record*& known = most[{integer_field(*row, "layer"), integer_field(*row, "head")}];
    if (known == nullptr || change_in(*row) > change_in(*known)) known = row;
  }
  std::vector<const Record*> lines_of;
  for (const auto& [place, row] : most) lines_of.push_back(row);
  std::stable_sort(lines_of.begin(), lines_of.end(), [](const Record* a, const Record* b) {
    return number_or_nan(*a, "loss_increase") > number_or_nan(*b, "loss_increase");
  });
  constexpr std::size_t kShown = 12;
  std::vector<std::vector<std::string>> lines = {
      {style.bold("without"), style.bold("loss increase"), style.bold("changes most"),
       style.bold("its induction")}};
  for (std::size_t at = 0; at < std::min(kShown, lines_of.size()); ++at) {
    const Record& row = *lines_of[at];
    const bool later = !row.find("to_layer")->is_null();
    lines.push_back({head_title(row, "layer", "head"),
                     number_text(row, "loss_increase", "{:+.4f}") + " ±" +
                         number_text(row, "loss_increase_error", "{:.4f}"),
                     later ? head_title(row, "to_layer", "to_head") : "",
                     later ? from_to(row) : ""});
  }
  out << align(lines);
  out << fmt::format("\nloss {} nats, on the second half\n\n",
                     number_text(*rows.front(), "loss", "{:.4f}"));
}

/// A line for each earlier head: out of the queries, the keys, the values.
void write_paths(const std::vector<const Record*>& rows, const Style& style, std::ostream& out) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::map<std::string, const Record*>> heads;
  for (const Record* row : rows) {
    heads[{integer_field(*row, "layer"), integer_field(*row, "head")}][text_field(*row, "path")] =
        row;
  }
  out << fmt::format("{}: induction {}\n",
                     style.bold(head_title(*rows.front(), "to_layer", "to_head")),
                     number_text(*rows.front(), "induction_before", "{:.3f}"));
  std::vector<std::vector<std::string>> lines = {
      {style.bold("taken out"), style.bold("of its queries"), style.bold("of its keys"),
       style.bold("what it gives moves, by queries"), style.bold("keys"), style.bold("values")}};
  for (const auto& [place, paths] : heads) {
    std::vector<std::string> line = {fmt::format("L{}H{}", place.first, place.second)};
    for (const char* path : {"query", "key"}) {
      const auto found = paths.find(path);
      line.push_back(found == paths.end() ? "-"
                                          : number_text(*found->second, "induction", "{:.3f}"));
    }
    for (const char* path : {"query", "key", "value"}) {
      const auto found = paths.find(path);
      line.push_back(
          found == paths.end() ? "-" : percent_text(number_or_nan(*found->second, "write_change")));
    }
    lines.push_back(std::move(line));
  }
  out << align(lines) << '\n';
}

}  // namespace

void write_ablate_induction_table(const Report& report, const WriteOptions& options,
                                  std::ostream& out) {
  const Style style(options.color);
  const Value* into = report.parameters.find("into");
  const bool paths = into != nullptr && !into->is_null();
  for (const Record& model : report.models) {
    const std::string name = text_field(model, "name");
    const std::vector<const Record*> rows = rows_of_model(report, name);
    if (rows.empty()) continue;
    out << style.bold(printable(name)) << "  " << style.dim(model_title(model)) << "\n\n";
    if (paths) {
      write_paths(rows, style, out);
    } else {
      write_everywhere(rows, style, out);
    }
  }
  if (report.rows.empty()) return;
  write_legend(paths
                   ? "Induction of one head where what an earlier one writes, but for its mean, "
                     "is taken out of what it reads as queries, as keys or as values, and nothing "
                     "else; and by how much what it gives to the output projection moves."
                   : "Random tokens, then the same again; each head is replaced by its mean. "
                     "Induction: mean weight from a repeated token to the one after its first "
                     "occurrence, of the later head that changes most.",
               options, out);
}

}  // namespace attnscope
