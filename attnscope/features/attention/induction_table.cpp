// The table of `attention --induction`: the strongest induction and duplicate-token heads.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "attnscope/features/all_tables.h"
#include "attnscope/rows/table/alignment.h"
#include "attnscope/rows/table/cells.h"
#include "attnscope/rows/table/skipped_lines.h"
#include "attnscope/rows/table/style.h"

namespace attnscope {
namespace {

constexpr std::size_t kStrongestHeads = 10;  // maximum number of heads in the table

struct Head {
  double score = 0;
  std::string text;   // layer and head
  std::string cells;  // score
};

/// The strongest heads of a model. Equal scores stay in row order.
std::vector<Head> strongest(const Report& report, const std::string& model, const char* field,
                            const Style& style) {
  std::vector<Head> heads;
  for (const Record& row : report.rows) {
    const auto score = number_field(row, field);
    if (text_field(row, "model") != model || !score) continue;
    heads.push_back({*score, head_text(row),
                     style.shade(*score, mean_and_error(row, field, "{:.3f}", "{:.3f}"))});
  }
  std::stable_sort(heads.begin(), heads.end(),
                   [](const Head& a, const Head& b) { return a.score > b.score; });
  heads.resize(std::min(heads.size(), kStrongestHeads));
  return heads;
}

/// The score of uniform attention in a model: "0.014", or a range such as "0.010–0.014" if layers
/// have different windows.
std::string uniform_text(const Report& report, const std::string& model, const char* field) {
  std::optional<double> least, most;
  for (const Record& row : report.rows) {
    const auto value = number_field(row, field);
    if (text_field(row, "model") != model || !value) continue;
    least = std::min(least.value_or(*value), *value);
    most = std::max(most.value_or(*value), *value);
  }
  if (!least) return "";
  const std::string low = fmt::format("{:.3f}", *least), high = fmt::format("{:.3f}", *most);
  return low == high ? low : low + "–" + high;
}

}  // namespace

void write_induction_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  const Style style(options.color);
  for (const Record& model : report.models) {
    const std::string name = text_field(model, "name");
    const std::vector<Head> induction = strongest(report, name, "induction", style);
    const std::vector<Head> duplicate = strongest(report, name, "duplicate_token", style);
    std::vector<std::vector<std::string>> lines = {
        {style.bold("induction"), "", "", style.bold("duplicate token"), ""}};
    for (std::size_t at = 0; at < std::max(induction.size(), duplicate.size()); ++at) {
      auto& line = lines.emplace_back();
      const auto add = [&](const std::vector<Head>& heads) {
        line.push_back(at < heads.size() ? heads[at].text : "");
        line.push_back(at < heads.size() ? heads[at].cells : "");
      };
      add(induction);
      line.emplace_back();
      add(duplicate);
    }
    if (const std::string even = uniform_text(report, name, "uniform_induction"); !even.empty()) {
      lines.push_back({style.dim("uniform"), style.dim(even), "", style.dim("uniform"),
                       style.dim(uniform_text(report, name, "uniform_duplicate_token"))});
    }
    out << style.bold(name) << "  " << style.dim(model_title(model)) << "\n\n"
        << align(lines, /*left_columns=*/5) << '\n';
  }
  write_skipped(report, out);
  write_legend(
      "Mean attention from a repeated random token to the token after its first occurrence "
      "(induction), and to the first occurrence itself (duplicate token). ±: standard error. "
      "uniform: uniform attention. " +
          sequences_text(report.parameters),
      options, out);
}

}  // namespace attnscope
