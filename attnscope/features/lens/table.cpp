// Table of `lens`: one line per residual-stream state, with bars. For one text: one line per token
// with the predictions of the states.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "attnscope/base/text.h"
#include "attnscope/features/all_tables.h"
#include "attnscope/features/common/certainty_marks.h"
#include "attnscope/rows/field.h"
#include "attnscope/rows/table/alignment.h"
#include "attnscope/rows/table/cells.h"
#include "attnscope/rows/table/layer_grid.h"
#include "attnscope/rows/table/style.h"

namespace attnscope {
namespace {

std::string state_title(const Record& row) {
  const std::string layer = std::to_string(integer_field(row, "layer"));
  const std::string state = text_field(row, "state");
  if (state == "resid_pre") return layer;
  if (state == "resid_post") return "after " + layer;
  return state.starts_with("resid_mid") ? layer + "½" : layer + " " + state;
}

void write_states(const std::vector<const Record*>& rows, const Style& style, std::ostream& out) {
  const std::vector<std::pair<const char*, const char*>> columns = {
      {"loss", "{:.4f}"},        {"entropy", "{:.4f}"},
      {"kl", "{:.4f}"},          {"mean_reciprocal_rank", "{:.3f}"},
      {"median_rank", "{:.1f}"}, {"top1", "{:.3f}"},
      {"agreement", "{:.3f}"}};
  std::vector<std::vector<std::string>> lines(1);
  lines[0].push_back(style.bold("layer"));
  for (const auto& [name, format] : columns) lines[0].push_back(style.bold(heading("lens", name)));
  lines[0].emplace_back();
  for (const Record* row : rows) {
    auto& line = lines.emplace_back();
    line.push_back(state_title(*row));
    for (const auto& [name, format] : columns) line.push_back(number_text(*row, name, format));
    const Value* agreement = row->find("agreement");
    line.push_back(style.bar(*agreement->get<double>()));
  }
  out << align(lines);
}

/// The top-1 token, or several top tokens.
std::string most_likely_cell(const Record& row) {
  const Value* several = row.find("top_tokens");
  if (several == nullptr) return token_cell(row, "top_text", "top_token");
  std::vector<std::string> cells;
  for (const Value& token : expect<Value::List>(*several, "top_tokens")) {
    cells.push_back(token_cell(expect<Record>(token, "top_tokens"), "text", "token_id"));
  }
  return join(cells, " ");
}

/// One model: each token with the next token predicted by each state.
void write_grid(const std::vector<const Record*>& rows, const WriteOptions& options,
                const Style& style, std::ostream& out) {
  constexpr std::int64_t kMaxShown = 60;
  std::map<std::int64_t, std::vector<const Record*>> by_token;
  for (const Record* row : rows) by_token[integer_field(*row, "position")].push_back(row);
  std::vector<std::vector<std::string>> lines(1);
  lines[0].push_back(style.bold("token"));
  for (const Record* row : by_token.begin()->second) {
    lines[0].push_back(style.bold(state_title(*row)));
  }
  const std::int64_t skipped = std::max<std::int64_t>(0, std::ssize(by_token) - kMaxShown);
  for (const auto& [position, states] : by_token) {
    if (position < skipped) continue;
    auto& line = lines.emplace_back();
    line.push_back(token_cell(*states.front(), "text", "token_id"));
    for (const Record* row : states) {
      const auto rank = static_cast<double>(integer_field(*row, "rank", 1));
      constexpr double kFar = 10'000;  // higher ranks share one color
      const double near = 1 - std::min(1.0, std::log(rank) / std::log(kFar));
      const std::string mark =
          rank == 1 ? "" : fmt::format(" {}", grouped(static_cast<std::int64_t>(rank)));
      line.push_back(style.shade(near, most_likely_cell(*row)) + style.dim(mark));
    }
  }
  if (skipped > 0) out << style.dim(fmt::format("  {} earlier tokens not shown", skipped)) << '\n';
  out << fold(lines, static_cast<std::size_t>(options.width));
}

/// Table for prompts with answers.
void write_preferences(const std::vector<const Record*>& rows, const Style& style,
                       std::ostream& out) {
  const bool corrupted = !rows.front()->find("corrupted_logit_difference")->is_null();
  std::vector<std::vector<std::string>> lines(1);
  lines[0] = {
      style.bold("layer"), style.bold("logit difference"), style.bold(corrupted ? "corrupted" : ""),
      style.bold("share"), style.bold("accuracy"),         ""};
  const auto marked = [&](const std::string& share, const Record& row) {
    return is_insignificant(row, "share") ? style.dim("· " + share) : share;
  };
  for (const Record* row : rows) {
    const auto share = number_field(*row, "share");
    lines.push_back({state_title(*row), number_text(*row, "logit_difference", "{:+.4f}"),
                     corrupted ? number_text(*row, "corrupted_logit_difference", "{:+.4f}") : "",
                     share ? marked(fmt::format("{:+.1f}%", 100 * *share), *row) : "-",
                     number_text(*row, "preference_accuracy", "{:.3f}"),
                     share ? style.bar(std::clamp(*share, 0.0, 1.0)) : ""});
  }
  out << align(lines);
}

}  // namespace

void write_lens_prompts_table(const Report& report, const WriteOptions& options,
                              std::ostream& out) {
  const Style style(options.color);
  for (const Record& model : report.models) {
    const std::string name = text_field(model, "name");
    const std::vector<const Record*> rows = rows_of_model(report, name);
    if (rows.empty()) continue;
    out << style.bold(printable(name)) << "  " << style.dim(model_title(model)) << "\n\n";
    write_preferences(rows, style, out);
    out << '\n';
  }
  if (report.rows.empty()) return;
  write_legend(
      "Correct minus incorrect answer: mean logit difference, decoded from the residual stream "
      "before each layer (final norm, then unembedding). share: relative to the final state. "
      "accuracy: share of prompts whose correct answer scores higher. " +
          insignificance_text(report.rows),
      options, out);
}

void write_lens_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  const Style style(options.color);
  for (const Record& model : report.models) {
    const std::string name = text_field(model, "name");
    const std::vector<const Record*> rows = rows_of_model(report, name);
    if (rows.empty()) continue;
    out << style.bold(printable(name)) << "  " << style.dim(model_title(model)) << "\n\n";
    const Value* states = model.find("states");
    if (states == nullptr) {
      write_states(rows, style, out);
    } else {
      std::vector<const Record*> means;
      for (const Value& state : expect<Value::List>(*states, "states")) {
        means.push_back(&expect<Record>(state, "states"));
      }
      write_grid(rows, options, style, out);
      out << '\n';
      write_states(means, style, out);
    }
    out << '\n';
  }
  if (report.rows.empty()) return;
  const bool grid = report.parameters.find("grid") != nullptr;
  const bool tuned = report.parameters.find("tuned_lens") != nullptr;
  write_legend(
      std::string(
          grid ? "Above: top-1 token decoded from the residual stream before each layer, at each "
                 "position. A number is the rank of the model's final prediction there. "
               : "") +
          (tuned ? "Tuned lens: translator of the layer, final norm, then unembedding. "
                 : "Logit lens: final norm, then unembedding. In early layers the residual basis "
                   "differs, so a high loss does not mean missing information. ") +
          "loss, entropy and kl (from the "
          "model's final prediction) are in nats. agreement: same top-1 token as the final "
          "prediction." +
          scored_sentence(report.parameters),
      options, out);
}

}  // namespace attnscope
