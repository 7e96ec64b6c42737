// `attention --induction` for people: the heads that look most at what followed a token before, and
// at the token itself.
#include <fmt/format.h>

#include <algorithm>

#include "attnscope/output/attention_cells.h"
#include "attnscope/output/circuit_cells.h"
#include "attnscope/output/spectrum_cells.h"
#include "attnscope/output/tables.h"
#include "attnscope/output/terminal.h"

namespace attnscope {
namespace {

constexpr std::size_t kStrongest = 10;  // heads that the table shows

struct Head {
  double score = 0;
  std::string text;   // which one
  std::string cells;  // its score
};

/// The strongest heads of one model, the earlier row first where two are equal.
std::vector<Head> strongest(const Report& report, const std::string& model, const char* field,
                            const Style& style) {
  std::vector<Head> heads;
  for (const Record& row : report.rows) {
    const auto score = number_of(row, field);
    if (text_field(row, "model") != model || !score) continue;
    heads.push_back({*score, head_text(row),
                     style.shade(*score, mean_and_error(row, field, "{:.3f}", "{:.3f}"))});
  }
  std::stable_sort(heads.begin(), heads.end(),
                   [](const Head& a, const Head& b) { return a.score > b.score; });
  heads.resize(std::min(heads.size(), kStrongest));
  return heads;
}

/// Of a head that looks at all tokens before a repeated one, and at itself, alike: 1 of q + 1 keys
/// from each query q of the second half.
double even_score(std::int64_t block) {
  double sum = 0;
  for (std::int64_t query = block; query < 2 * block; ++query) {
    sum += 1 / static_cast<double>(query + 1);
  }
  return sum / static_cast<double>(block);
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
    out << style.bold(name) << "  " << style.dim(model_title(model)) << "\n\n"
        << align(lines, /*left_columns=*/5) << '\n';
  }
  write_skipped(report, out);
  const std::int64_t length = integer_field(report.parameters, "length");
  out << style.dim(
             "Mean weight from a repeated random token to the one after its first occurrence "
             "(induction),\nand to that occurrence (duplicate token); ±: standard error." +
             (length < 4 ? std::string()
                         : fmt::format(" {}: looking at all earlier tokens alike gives {:.3f}.",
                                       sequences_text(report.parameters), even_score(length / 2))))
      << '\n';
}

}  // namespace attnscope
