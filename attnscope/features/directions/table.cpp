// The table of `directions`: the top tokens of each singular vector for both signs, with a dot if
// their similarity is above chance.
#include <fmt/format.h>

#include <algorithm>

#include "attnscope/base/text.h"
#include "attnscope/features/all_tables.h"
#include "attnscope/rows/table/alignment.h"
#include "attnscope/rows/table/cells.h"
#include "attnscope/rows/table/layer_grid.h"
#include "attnscope/rows/table/skipped_lines.h"
#include "attnscope/rows/table/style.h"

namespace attnscope {
namespace {

constexpr std::size_t kShown = 6;  // tokens per list

std::string sign_text(const Record& row, const Style& style) {
  std::string words;
  const auto& tokens = expect<Value::List>(*row.find("tokens"), "tokens");
  for (std::size_t at = 0; at < std::min(kShown, tokens.size()); ++at) {
    words +=
        (at == 0 ? "" : " ") + token_cell(expect<Record>(tokens[at], "tokens"), "text", "token_id");
  }
  const bool named = *row.find("named")->get<bool>();
  words = text_field(row, "sign") + " " + words;
  const std::string mark = (named ? "● " : "· ") + number_text(row, "coherence", "{:.2f}");
  return named ? style.bold(words) + "  " + mark : style.dim(words + "  " + mark);
}

std::string place_text(const Record& row) {
  const bool head = !row.find("head")->is_null();
  const std::string layer = std::to_string(integer_field(row, "layer"));
  if (!head) return text_field(row, "matrix") + " " + layer;
  return head_text(row);
}

/// The side, with the correlation on the text if one was given.
std::string side_words(const Record& row) {
  const std::string side = text_field(row, "singular_vector");
  if (!number_field(row, "text_correlation")) return side;
  return side + " (" + number_text(row, "text_correlation", "{:.2f}") + ")";
}

}  // namespace

void write_directions_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  const Style style(options.color);
  for (const Record& model : report.models) {
    const std::string name = text_field(model, "name");
    const std::vector<const Record*> rows = rows_of_model(report, name);
    if (rows.empty()) continue;
    out << style.bold(printable(name)) << "  " << style.dim(model_title(model)) << '\n';
    const auto& naming = expect<Record>(model, "candidate_tokens");
    const Value* untrained = naming.find("untrained");
    if (untrained != nullptr && !untrained->is_null()) {
      out << style.dim(fmt::format("{} as candidates; {} untrained tokens excluded",
                                   counted(integer_field(naming, "tokens"), "token"),
                                   integer_field(naming, "untrained")))
          << '\n';
    }
    const std::int64_t lists = integer_field(naming, "lists");
    out << style.dim(fmt::format("{} of {} of top tokens are more coherent than chance (expected "
                                 "by chance: {:.0f})",
                                 integer_field(naming, "named"), counted(lists, "list"),
                                 0.01 * static_cast<double>(lists)))
        << "\n\n";
    std::vector<std::vector<std::string>> lines;
    for (std::size_t at = 0; at + 1 < rows.size(); at += 2) {  // both signs of a singular vector
      const Record &plus = *rows[at], &minus = *rows[at + 1];
      const bool first =
          at == 0 || place_text(*rows[at - 2]) != place_text(plus) ||
          integer_field(*rows[at - 2], "direction") != integer_field(plus, "direction");
      lines.push_back({first ? style.bold(place_text(plus)) : "",
                       first ? std::to_string(integer_field(plus, "direction")) : "",
                       first ? fmt::format("{:.1f}%", 100 * expect<double>(plus, "energy")) : "",
                       side_words(plus), sign_text(plus, style), sign_text(minus, style)});
    }
    out << align(lines, /*left_columns=*/6) << '\n';
  }
  write_skipped(report, out);
  if (report.rows.empty()) return;
  const bool on_text = std::any_of(report.rows.begin(), report.rows.end(), [](const Record& row) {
    return number_field(row, "text_correlation").has_value();
  });
  write_legend(
      std::string(
          "Top singular vectors (norms folded in), with their energy share and top tokens for each "
          "sign. ●: the top ten tokens are more similar to each other than those of 99% of random "
          "directions. ·: not above chance; the direction may still be meaningful.") +
          (on_text ? " (0.50): correlation, over distinct tokens of the text, between the mean "
                     "projection onto the direction and the token's score."
                   : ""),
      options, out);
}

}  // namespace attnscope
