// Table of `predict --attribution`: the components with the largest direct effects, and the sum.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attnscope/base/text.h"
#include "attnscope/features/all_tables.h"
#include "attnscope/features/common/certainty_marks.h"
#include "attnscope/rows/table/alignment.h"
#include "attnscope/rows/table/cells.h"
#include "attnscope/rows/table/layer_grid.h"
#include "attnscope/rows/table/style.h"

namespace attnscope {
namespace {

double direct_of(const Record& row) { return expect<double>(row, "direct_effect"); }

std::string name_of_part(const Record& row) {
  const std::string component = text_field(row, "component");
  const bool layer = !row.find("layer")->is_null();
  if (component == "head") return head_text(row);
  std::string words = component;
  std::replace(words.begin(), words.end(), '_', ' ');
  return layer ? fmt::format("{} {}", words, integer_field(row, "layer")) : words;
}

/// "next token, mean over 5 positions", "␣Paris minus ␣London".
std::string asked_text(const Record& attributed, bool of_prompts) {
  const std::int64_t places = integer_field(attributed, "positions");
  if (of_prompts) {
    const std::string text =
        fmt::format("correct minus incorrect answer, mean over {}", counted(places, "prompt"));
    if (attributed.find("corrupted_logit")->is_null()) return text;
    return text + "; second column: corrupted prompts";
  }
  const Record* token = attributed.find("token")->get<Record>();
  if (token == nullptr) {
    return fmt::format("the next token, mean over {}", counted(places, "position"));
  }
  const Record* against = attributed.find("against")->get<Record>();
  std::string text = token_cell(*token, "text", "id");
  if (against != nullptr) text += " minus " + token_cell(*against, "text", "id");
  return text;
}

/// The direct effect on corrupted prompts, and the share of the logit difference. `·`: see
/// insignificance_text().
std::string prompt_cell(const Record& row, const Style& style) {
  const Value* corrupted = row.find("corrupted_direct_effect");
  const Value* share = row.find("share");
  std::string text =
      corrupted->is_null() ? "" : number_text(row, "corrupted_direct_effect", "{:+.4f}") + "  ";
  if (share->is_null()) return text + "-";
  const std::string percent = fmt::format("{:+.1f}%", 100 * expect<double>(row, "share"));
  return text + (is_insignificant(row, "share") ? style.dim("· " + percent) : percent);
}

}  // namespace

void write_attribution_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  constexpr std::size_t kShown = 20;
  const Style style(options.color);
  const bool of_prompts = report.parameters.find("prompts") != nullptr;
  for (const Record& model : report.models) {
    const std::string name = text_field(model, "name");
    std::vector<const Record*> rows;
    double sum = 0, largest = 0;
    for (const Record& row : report.rows) {
      if (text_field(row, "model") != name) continue;
      rows.push_back(&row);
      sum += direct_of(row);
      largest = std::max(largest, std::abs(direct_of(row)));
    }
    const auto& attributed = expect<Record>(model, "attributed");
    out << style.bold(printable(name)) << "  " << style.dim("logit of ")
        << asked_text(attributed, of_prompts) << '\n';
    std::stable_sort(rows.begin(), rows.end(), [](const Record* a, const Record* b) {
      return std::abs(direct_of(*a)) > std::abs(direct_of(*b));
    });
    std::vector<std::vector<std::string>> lines;
    double others = 0;
    for (std::size_t at = 0; at < rows.size(); ++at) {
      const double direct = direct_of(*rows[at]);
      if (at >= kShown) {
        others += direct;
        continue;
      }
      lines.push_back({"  " + name_of_part(*rows[at]), fmt::format("{:+.4f}", direct),
                       of_prompts ? prompt_cell(*rows[at], style) : "",
                       style.bar(largest == 0 ? 0 : std::abs(direct) / largest)});
    }
    if (rows.size() > kShown) {
      lines.push_back({fmt::format("  {} others", rows.size() - kShown),
                       fmt::format("{:+.4f}", others), "", ""});
    }
    lines.push_back({"  " + style.bold("sum"), fmt::format("{:+.4f}", sum), "", ""});
    lines.push_back({style.dim("  logit of the model"), number_text(attributed, "logit", "{:+.4f}"),
                     of_prompts && !attributed.find("corrupted_logit")->is_null()
                         ? number_text(attributed, "corrupted_logit", "{:+.4f}")
                         : "",
                     ""});
    out << align(lines) << '\n';
  }
  if (report.rows.empty()) return;
  const bool of_label = report.parameters.find("label") != nullptr;
  const std::string relative =
      of_label ? "the mean over labels (or the other label; a single label: zero)"
               : "the vocabulary mean (or the other token)";
  write_legend("Direct logit attribution, relative to " + relative +
                   ", with the final norm's scale frozen. Indirect effects are not included." +
                   (of_prompts ? " " + insignificance_text(report.rows) : ""),
               options, out);
}

}  // namespace attnscope
