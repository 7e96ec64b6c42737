// `ablate` for people: a line for each layer with what its attention, its MLP and each of its heads
// are worth, in thousandths of a nat, and the parts that matter most.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attnscope/core/text.h"
#include "attnscope/core/wording.h"
#include "attnscope/output/layer_grid.h"
#include "attnscope/output/legend.h"
#include "attnscope/output/part_grid.h"
#include "attnscope/output/table_parts.h"
#include "attnscope/output/tables.h"
#include "attnscope/output/terminal.h"

namespace attnscope {
namespace {

/// Whether the increase is beyond two standard errors; that of one text is not judged.
bool counts(const Record& row) {
  const auto error = number_field(row, "loss_increase_error");
  return !error || std::abs(number_field(row, "loss_increase").value_or(0)) > 2 * *error;
}

std::string cell(const Record& row, double largest, const Style& style) {
  if (!counts(row)) return style.dim("·");
  const double increase = number_field(row, "loss_increase").value_or(0);
  const std::string text = fmt::format("{:.0f}", 1000 * increase);
  return style.shade(std::clamp(increase / largest, 0.0, 1.0), text == "-0" ? "0" : text);
}

void write_model(const std::vector<const Record*>& rows, const WriteOptions& options,
                 const Style& style, std::ostream& out) {
  double largest = 1e-9;  // of heads and attention: MLPs dwarf them
  for (const Record* row : rows) {
    if (text_field(*row, "component") == "mlp") continue;
    largest = std::max(largest, number_field(*row, "loss_increase").value_or(0));
  }
  const PartCell shaded = [&](const Record& row) { return cell(row, largest, style); };
  out << part_grid(rows, shaded, style, options.width);
}

void write_most(std::vector<const Record*> rows, const Style& style, std::ostream& out) {
  constexpr std::size_t kShown = 6;
  std::erase_if(rows, [](const Record* row) {
    return !counts(*row) || text_field(*row, "component") != "head" ||
           number_field(*row, "loss_increase").value_or(0) <= 0;
  });
  if (rows.empty()) return;
  std::stable_sort(rows.begin(), rows.end(), [](const Record* a, const Record* b) {
    return number_field(*a, "loss_increase").value_or(0) >
           number_field(*b, "loss_increase").value_or(0);
  });
  std::vector<std::vector<std::string>> lines = {{style.bold("heads that matter most"),
                                                  style.bold("loss increase"), style.bold("kl"),
                                                  style.bold("changed"), style.bold("direct")}};
  for (std::size_t at = 0; at < std::min(kShown, rows.size()); ++at) {
    const Record& row = *rows[at];
    std::string increase = number_text(row, "loss_increase", "{:+.4f}");
    if (number_field(row, "loss_increase_error")) {
      increase += " ±" + number_text(row, "loss_increase_error", "{:.4f}");
    }
    lines.push_back({part_title(row), increase, number_text(row, "kl", "{:.4f}"),
                     number_text(row, "changed", "{:.3f}"), number_text(row, "direct", "{:+.3f}")});
  }
  out << '\n' << align(lines);
}

}  // namespace

void write_ablate_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  const Style style(options.color);
  for (const Record& model : report.models) {
    const std::string name = text_field(model, "name");
    const std::vector<const Record*> rows = rows_of_model(report, name);
    if (rows.empty()) continue;
    out << style.bold(printable(name)) << "  " << style.dim(model_title(model)) << "\n\n";
    write_model(rows, options, style, out);
    write_most(rows, style, out);
    out << '\n'
        << fmt::format("loss {} nats, over {}\n\n", number_text(*rows.front(), "loss", "{:.4f}"),
                       counted(integer_field(*rows.front(), "predicted"), "token"));
  }
  if (report.rows.empty()) return;
  const std::string how = text_field(report.parameters, "how");
  // A text of an encoder-decoder is a source with its target.
  const bool pairs = integer_field(report.parameters, "target_length") > 0;
  const std::string text = pairs ? "pair" : "window";
  const std::string by = how == "zero"       ? "zeros"
                         : how == "resample" ? "what it gave in the next " + text
                                             : "its mean over the text";
  write_legend(
      "By how many thousandths of a nat the loss rises where that part alone is replaced by " + by +
          "; ·: within two standard errors over " + text +
          "s. What parts are worth together is "
          "not the sum: see each layer's attention beside its heads." +
          scored_sentence(report.parameters),
      options, out);
}

}  // namespace attnscope
