// `ablate --prompts` for people: what share of the preference for the right answers each part
// restores or destroys, and the heads that do most of it.
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

std::string whole_percent(double share) {
  const std::string text = fmt::format("{:.0f}", 100 * share);
  return text == "-0" ? "0" : text;
}

std::string share_cell(const Record& row, const char* measure, const Style& style) {
  const auto share = number_field(row, measure);
  if (!share) return style.dim("-");
  const auto error = number_field(row, measure + std::string("_error"));
  if (error && std::abs(*share) <= 2 * *error) return style.dim("·");
  return style.shade(std::clamp(*share, 0.0, 1.0), whole_percent(*share));
}

std::string share_with_error(const Record& row, const char* measure) {
  const auto share = number_field(row, measure);
  if (!share) return "-";
  const auto error = number_field(row, measure + std::string("_error"));
  return fmt::format("{:+.1f}%", 100 * *share) +
         (error ? fmt::format(" ±{:.1f}", 100 * *error) : "");
}

/// By the first of the measures.
void write_heads(std::vector<const Record*> rows, const std::vector<const char*>& measures,
                 const Style& style, std::ostream& out) {
  const char* by = measures.front();
  constexpr std::size_t kShown = 6;
  std::erase_if(rows, [&](const Record* row) {
    return text_field(*row, "component") != "head" || !number_field(*row, by);
  });
  if (rows.empty()) return;
  std::stable_sort(rows.begin(), rows.end(), [&](const Record* a, const Record* b) {
    return std::abs(*number_field(*a, by)) > std::abs(*number_field(*b, by));
  });
  std::vector<std::vector<std::string>> lines(1);
  lines[0].push_back(style.bold("heads that do most"));
  for (const char* measure : measures) lines[0].push_back(style.bold(measure));
  for (std::size_t at = 0; at < std::min(kShown, rows.size()); ++at) {
    auto& line = lines.emplace_back();
    line.push_back(part_title(*rows[at]));
    for (const char* measure : measures) line.push_back(share_with_error(*rows[at], measure));
  }
  out << '\n' << align(lines);
}

}  // namespace

void write_ablate_prompts_table(const Report& report, const WriteOptions& options,
                                std::ostream& out) {
  const Style style(options.color);
  const std::string how = text_field(report.parameters, "how");
  const bool patched = how == "corrupted";
  std::vector<const char*> measures = {"destroyed"};
  if (patched) measures.insert(measures.begin(), "restored");
  for (const Record& model : report.models) {
    const std::string name = text_field(model, "name");
    const std::vector<const Record*> rows = rows_of_model(report, name);
    if (rows.empty()) continue;
    out << style.bold(printable(name)) << "  " << style.dim(model_title(model)) << "\n\n";
    const PartCell cell = [&](const Record& row) {
      return share_cell(row, measures.front(), style);
    };
    out << part_grid(rows, cell, style, options.width);
    write_heads(rows, measures, style, out);
    out << fmt::format("\nlogit difference {}",
                       number_text(*rows.front(), "logit_difference", "{:+.4f}"));
    if (patched) {
      out << fmt::format(", after corrupted prompts {}",
                         number_text(*rows.front(), "corrupted_logit_difference", "{:+.4f}"));
    }
    out << ", over " << counted(integer_field(*rows.front(), "prompts"), "prompt") << "\n\n";
  }
  if (report.rows.empty()) return;
  const std::string what =
      patched
          ? "What share, in %, of the right answers' lead over the wrong ones a part restores "
            "after corrupted prompts where it alone is as after the clean ones"
          : "What share, in %, of the right answers' lead over the wrong ones is lost where that "
            "part alone is replaced by " +
                std::string(how == "zero" ? "zeros" : "its mean over the prompts");
  write_legend(what + "; ·: within two standard errors over prompts. Shares do not add up.",
               options, out);
}

}  // namespace attnscope
