// Tables of `predict`: the prompt, the most likely next tokens with probability bars, the generated
// text and the hidden states; or the perplexity of a text.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attnscope/base/text.h"
#include "attnscope/features/all_tables.h"
#include "attnscope/rows/field.h"
#include "attnscope/rows/table/alignment.h"
#include "attnscope/rows/table/cells.h"
#include "attnscope/rows/table/style.h"

namespace attnscope {
namespace {

/// Writes tokens separated by bars, wrapped to the width. Long prompts are cut after the first
/// tokens.
void write_tokens(const Value::List& tokens, const WriteOptions& options, const Style& style,
                  std::ostream& out) {
  constexpr std::size_t kMaxShown = 200;
  std::string line = " ";
  const std::string bar = style.dim("|");
  for (std::size_t at = 0; at < std::min(kMaxShown, tokens.size()); ++at) {
    const std::string cell = token_cell(expect<Record>(tokens[at], "tokens"), "text", "id");
    const bool fits =
        display_width(line) + display_width(cell) + 1 <= static_cast<std::size_t>(options.width);
    if (!fits) {
      out << line << '\n';
      line = " ";
    }
    line += (line == " " ? " " : bar) + cell;
  }
  out << line << '\n';
  if (tokens.size() > kMaxShown) {
    out << style.dim(fmt::format("  and {} more", tokens.size() - kMaxShown)) << '\n';
  }
}

std::string probability_bar(double share, const Style& style) {
  constexpr double kCells = 24;
  const auto cells = static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * kCells));
  std::string bar;
  for (std::size_t cell = 0; cell < cells; ++cell) bar += style.color() ? "█" : "#";
  return style.shade(share, bar);
}

/// Whether a row, token or hidden state belongs to this text. Without a number, there is one text.
bool is_of_text(const Record& record, std::int64_t sequence) {
  return record.find("sequence") == nullptr || integer_field(record, "sequence") == sequence;
}

/// The records of one text.
Value::List of_text(const Value::List& all, std::int64_t sequence) {
  Value::List own;
  for (const Value& value : all) {
    if (is_of_text(expect<Record>(value, "sequence"), sequence)) own.push_back(value);
  }
  return own;
}

/// The number of texts of a model.
std::int64_t count_texts(const Value::List& tokens) {
  if (tokens.empty()) return 1;
  const auto& last = expect<Record>(tokens.back(), "tokens");
  return last.find("sequence") == nullptr ? 1 : integer_field(last, "sequence") + 1;
}

/// Writes the most likely tokens at the predicted positions of one text.
void write_top(const Report& report, const std::string& model, std::int64_t sequence,
               const Value::List& tokens, const Style& style, std::ostream& out) {
  std::vector<std::vector<std::string>> lines;
  constexpr std::int64_t kNone = -1;
  std::int64_t shown = kNone;
  const auto write_lines = [&] {
    std::size_t widest = 0;  // bars begin in one column
    for (const auto& line : lines) widest = std::max(widest, display_width(line.back()));
    for (auto& line : lines) line.back() = pad_right(line.back(), widest);
    out << align(lines, /*left_columns=*/2);
    lines.clear();
  };
  for (const Record& row : report.rows) {
    if (text_field(row, "model") != model || !is_of_text(row, sequence)) continue;
    const std::int64_t position = integer_field(row, "position");
    if (position != shown) {
      write_lines();
      shown = position;
      const bool is_mask = position < std::ssize(tokens);
      out << style.bold(is_mask ? fmt::format("masked token {}", position) : "next token") << '\n';
      lines.push_back(
          {"  " + style.dim(heading("predict", "rank")), style.dim(heading("predict", "text")),
           style.dim(heading("predict", "token_id")), style.dim(heading("predict", "logit")),
           style.dim(heading("predict", "probability")), ""});
    }
    const double probability = number_or_nan(row, "probability");
    lines.push_back({fmt::format("  {}", integer_field(row, "rank")),
                     token_cell(row, "text", "token_id"),
                     std::to_string(integer_field(row, "token_id")),
                     fmt::format("{:.4f}", number_or_nan(row, "logit")),
                     fmt::format("{:.4f}", probability), probability_bar(probability, style)});
  }
  write_lines();
}

void write_generated(const Record& generated, const WriteOptions& options, const Style& style,
                     std::ostream& out) {
  const auto& tokens = expect<Value::List>(*generated.find("tokens"), "tokens");
  const std::string ended = text_field(generated, "ended_by");
  const char* why = ended == "end token" ? ", up to the end token"
                    : ended == "context" ? ", up to the context length"
                                         : "";
  const bool shown = options.text_is_shown();
  out << style.bold("generated")
      << style.dim(
             fmt::format(" ({}{}){}", counted(tokens.size(), "token"), why, shown ? ": above" : ""))
      << '\n';
  if (shown) return;
  if (generated.find("text")->is_null()) return write_tokens(tokens, options, style, out);
  for (const std::string& line : split(text_field(generated, "text"), '\n')) {
    out << "  " << printable(line) << '\n';
  }
}

void write_hidden_states(const Value::List& states, const Style& style, std::ostream& out) {
  std::vector<std::vector<std::string>> lines = {
      {style.bold("hidden states"), style.dim("shape"), style.dim("mean norm")}};
  for (const Value& entry : states) {
    const auto& state = expect<Record>(entry, "hidden_states");
    const std::int64_t index = integer_field(state, "index");
    lines.push_back({index == 0 ? "  0, embedding" : fmt::format("  {}", index),
                     shape_text(expect_vector<std::int64_t>(state, "shape")),
                     fmt::format("{:.4f}", number_or_nan(state, "mean_norm"))});
  }
  out << align(lines, /*left_columns=*/2);
}

void write_prompt(const Report& report, const Record& model, const WriteOptions& options,
                  const Style& style, std::ostream& out) {
  const std::string name = text_field(model, "name");
  const auto& all = expect<Value::List>(*model.find("tokens"), "tokens");
  const auto& states = expect<Value::List>(*model.find("hidden_states"), "hidden_states");
  for (std::int64_t sequence = 0; sequence < count_texts(all); ++sequence) {
    if (sequence > 0) out << '\n';
    const Value::List tokens = of_text(all, sequence);
    out << style.bold(printable(name))
        << style.dim(fmt::format(" ({})", counted(tokens.size(), "token"))) << '\n';
    write_tokens(tokens, options, style, out);
    write_top(report, name, sequence, tokens, style, out);
    if (const Value* generated = model.find("generated")) {
      write_generated(expect<Record>(*generated, "generated"), options, style, out);
    }
    write_hidden_states(of_text(states, sequence), style, out);
  }
}

void write_perplexities(const Report& report, const Style& style, std::ostream& out) {
  const auto with_error = [](const Record& found, const std::string& name, int digits) {
    const std::string number = fmt::format("{:.{}f}", number_or_nan(found, name), digits);
    const double error = number_or_nan(found, name + "_error");
    return std::isnan(error) ? number : fmt::format("{} ± {:.{}f}", number, error, digits);
  };
  std::vector<std::vector<std::string>> lines = {
      {"", style.bold("perplexity"), style.dim("mean NLL, nats"), style.dim("scored tokens"),
       style.dim("all tokens"), style.dim("windows")}};
  for (const Record& model : report.models) {
    const std::string name = text_field(model, "name");
    const auto& found = expect<Record>(model, "perplexity");
    const std::int64_t windows = std::ssize(rows_of_model(report, name));
    lines.push_back({printable(name), with_error(found, "perplexity", 4),
                     with_error(found, "mean_nll", 6), grouped(integer_field(found, "predicted")),
                     grouped(integer_field(found, "tokens")), grouped(windows)});
  }
  out << align(lines);
  const std::string words = scored_words(report.parameters);
  if (!words.empty()) out << style.dim("over " + words) << '\n';
}

std::string place_of_label(const Record& row, const Value::List& tokens) {
  if (row.find("position") == nullptr) return "";
  const auto at = static_cast<std::size_t>(integer_field(row, "position"));
  std::string place = std::to_string(at);
  if (row.find("last_position") != nullptr) {
    return place + "-" + std::to_string(integer_field(row, "last_position"));
  }
  if (at >= tokens.size()) return place;
  return place + " " + token_cell(expect<Record>(tokens[at], "tokens"), "text", "id");
}

/// Writes the labels of one text of a model.
void write_labels(const Report& report, const std::string& model, std::int64_t sequence,
                  const Value::List& tokens, const Style& style, std::ostream& out) {
  std::vector<std::vector<std::string>> lines = {
      {style.dim(heading("text_label", "position")), style.dim(heading("text_label", "rank")),
       style.dim(heading("text_label", "text")), style.dim(heading("text_label", "logit")),
       style.dim(heading("text_label", "probability")), ""}};
  for (const Record& row : report.rows) {
    if (text_field(row, "model") != model || !is_of_text(row, sequence)) continue;
    const double probability = number_or_nan(row, "probability");
    const bool has_text = !row.find("text")->is_null();
    lines.push_back({place_of_label(row, tokens), std::to_string(integer_field(row, "rank")),
                     has_text ? printable(text_field(row, "text")) : "-",
                     fmt::format("{:.4f}", number_or_nan(row, "logit")),
                     std::isnan(probability) ? "-" : fmt::format("{:.4f}", probability),
                     std::isnan(probability) ? "" : probability_bar(probability, style)});
  }
  const bool of_texts = text_field(report.parameters, "labels") == "sequence";
  for (std::vector<std::string>& line : lines) {
    if (of_texts) line.erase(line.begin());  // labels of a whole text have no position
    line.front().insert(0, "  ");
  }
  out << align(lines, /*left_columns=*/of_texts ? 2 : 3);
}

}  // namespace

void write_label_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  const Style style(options.color);
  for (const Record& model : report.models) {
    const std::string name = text_field(model, "name");
    const auto& all = expect<Value::List>(*model.find("tokens"), "tokens");
    for (std::int64_t sequence = 0; sequence < count_texts(all); ++sequence) {
      if (&model != &report.models.front() || sequence > 0) out << '\n';
      const Value::List tokens = of_text(all, sequence);
      out << style.bold(printable(name))
          << style.dim(fmt::format(" ({})", counted(tokens.size(), "token"))) << '\n';
      write_tokens(tokens, options, style, out);
      write_labels(report, name, sequence, tokens, style, out);
    }
  }
}

void write_predict_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  const Style style(options.color);
  if (report.parameters.find("perplexity") != nullptr) {
    return write_perplexities(report, style, out);
  }
  for (const Record& model : report.models) {
    if (&model != &report.models.front()) out << '\n';
    write_prompt(report, model, options, style, out);
  }
}

}  // namespace attnscope
