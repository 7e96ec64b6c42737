// The table of `ablate`: a line per layer with the loss increase (millinats) from ablating its
// attention, its mixer, its MLP and each head, followed by the most important heads.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

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

/// Whether the increase exceeds two standard errors; always true without a standard error.
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
  double largest = 1e-9;  // without MLPs, whose effects are much larger
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
  std::vector<std::vector<std::string>> lines = {
      {style.bold("most important heads"), style.bold("loss increase"), style.bold("KL"),
       style.bold("top-1 changed"), style.bold("direct effect")}};
  for (std::size_t at = 0; at < std::min(kShown, rows.size()); ++at) {
    const Record& row = *rows[at];
    std::string increase = number_text(row, "loss_increase", "{:+.4f}");
    if (number_field(row, "loss_increase_error")) {
      increase += " ±" + number_text(row, "loss_increase_error", "{:.4f}");
    }
    lines.push_back({part_title(row), increase, number_text(row, "kl", "{:.4f}"),
                     number_text(row, "top_token_changed", "{:.3f}"),
                     number_text(row, "direct_effect", "{:+.3f}")});
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
        << fmt::format("baseline loss {} nats over {}\n\n",
                       number_text(*rows.front(), "loss", "{:.4f}"),
                       counted(integer_field(*rows.front(), "predicted"), "token"));
  }
  if (report.rows.empty()) return;
  const std::string how = text_field(report.parameters, "ablation");
  // A text of an encoder-decoder is a pair of source and target.
  const bool pairs = integer_field(report.parameters, "target_length") > 0;
  const std::string text = pairs ? "pair" : "window";
  const std::string by = how == "zero"       ? "zeros"
                         : how == "resample" ? "its output on the next " + text
                                             : "its mean over the text";
  write_legend("Loss increase (millinats) when one component is replaced by " + by +
                   ". ·: within 2 standard errors of 0, over " + text +
                   "s. Effects are not additive: compare each layer's attention with its heads." +
                   scored_sentence(report.parameters),
               options, out);
}

// The table of `ablate --induction`: the effect of each earlier head on induction heads.
namespace {

std::string head_title(const Record& row, const char* layer, const char* head) {
  return head_name(integer_field(row, layer), integer_field(row, head));
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

/// A line per ablated head, with the later head that changes most.
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
      {style.bold("ablated head"), style.bold("loss increase"), style.bold("most affected head"),
       style.bold("its induction")}};
  for (std::size_t at = 0; at < std::min(kShown, lines_of.size()); ++at) {
    const Record& row = *lines_of[at];
    const bool later = !row.find("receiver_layer")->is_null();
    lines.push_back({head_title(row, "layer", "head"),
                     number_text(row, "loss_increase", "{:+.4f}") + " ±" +
                         number_text(row, "loss_increase_error", "{:.4f}"),
                     later ? head_title(row, "receiver_layer", "receiver_head") : "",
                     later ? from_to(row) : ""});
  }
  out << align(lines);
  out << fmt::format("\nbaseline loss {} nats on the second half\n\n",
                     number_text(*rows.front(), "loss", "{:.4f}"));
}

/// A line per earlier head, with the effects of its paths into queries, keys and values.
void write_paths(const std::vector<const Record*>& rows, const Style& style, std::ostream& out) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::map<std::string, const Record*>> heads;
  for (const Record* row : rows) {
    heads[{integer_field(*row, "layer"), integer_field(*row, "head")}]
         [text_field(*row, "receiver_input")] = row;
  }
  out << fmt::format("{}: induction {}\n",
                     style.bold(head_title(*rows.front(), "receiver_layer", "receiver_head")),
                     number_text(*rows.front(), "induction_before", "{:.3f}"));
  std::vector<std::vector<std::string>> lines = {
      {style.bold("ablated path from"), style.bold("induction: into queries"),
       style.bold("into keys"), style.bold("output change: into queries"), style.bold("into keys"),
       style.bold("into values")}};
  for (const auto& [place, paths] : heads) {
    std::vector<std::string> line = {head_name(place.first, place.second)};
    for (const char* path : {"q", "k"}) {
      const auto found = paths.find(path);
      line.push_back(found == paths.end() ? "-"
                                          : number_text(*found->second, "induction", "{:.3f}"));
    }
    for (const char* path : {"q", "k", "v"}) {
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
  const Value* into = report.parameters.find("receiver");
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
  write_legend(
      paths ? "Mean ablation of the direct path from each earlier head into the queries, keys "
              "or values of the receiver. Induction: mean attention from a repeated token "
              "to the token after its first occurrence. Output change: relative change of "
              "the receiver's output before the output projection."
            : "Random tokens repeated twice; each head is mean-ablated. Induction: mean "
              "attention from a repeated token to the token after its first occurrence, for "
              "the most affected later head.",
      options, out);
}

// The table of `ablate --prompts`: the denoising or noising effect of each component on the logit
// difference, followed by the heads with the largest effects.
namespace {

std::string whole_percent(double share) {
  const std::string text = fmt::format("{:.0f}", 100 * share);
  return text == "-0" ? "0" : text;
}

std::string share_cell(const Record& row, const char* measure, const Style& style) {
  const auto share = number_field(row, measure);
  if (!share) return style.dim("-");
  if (is_insignificant(row, measure)) return style.dim("·");
  return style.shade(std::clamp(*share, 0.0, 1.0), whole_percent(*share));
}

std::string share_with_error(const Record& row, const char* measure) {
  const auto share = number_field(row, measure);
  if (!share) return "-";
  const auto error = number_field(row, measure + std::string("_error"));
  return fmt::format("{:+.1f}%", 100 * *share) +
         (error ? fmt::format(" ±{:.1f}", 100 * *error) : "");
}

/// Sorted by the first measure.
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
  lines[0].push_back(style.bold("heads with the largest effect"));
  for (const char* measure : measures)
    lines[0].push_back(style.bold(heading("ablate_prompts", measure)));
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
  const std::string how = text_field(report.parameters, "ablation");
  const bool patched = how == "corrupted";
  std::vector<const char*> measures = {"noising_effect"};
  if (patched) measures.insert(measures.begin(), "denoising_effect");
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
      out << fmt::format(", on corrupted prompts {}",
                         number_text(*rows.front(), "corrupted_logit_difference", "{:+.4f}"));
    }
    out << ", over " << counted(integer_field(*rows.front(), "prompts"), "prompt") << "\n\n";
  }
  if (report.rows.empty()) return;
  const std::string what =
      patched
          ? "Logit difference recovered (%) when one component is patched from the clean into the "
            "corrupted run."
          : "Logit difference lost (%) when one component is replaced by " +
                std::string(how == "zero" ? "zeros." : "its mean over the prompts.");
  write_legend(what + " " + insignificance_text(report.rows) + " Effects are not additive.",
               options, out);
}

}  // namespace attnscope
