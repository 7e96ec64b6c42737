// Tables of `plan` and `shrink`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "attnscope/base/text.h"
#include "attnscope/features/all_tables.h"
#include "attnscope/rows/field.h"
#include "attnscope/rows/table/alignment.h"
#include "attnscope/rows/table/cells.h"
#include "attnscope/rows/table/layer_grid.h"
#include "attnscope/rows/table/style.h"

namespace attnscope {
namespace {

double real_field(const Record& record, std::string_view name) {
  return expect<double>(record, name);
}

/// "2.16 M", "1,536".
std::string size_text(std::int64_t count) {
  constexpr std::int64_t kScaledFrom = 100'000;
  return count >= kScaledFrom ? scaled(static_cast<double>(count)) : grouped(count);
}

/// " 85%".
std::string share_of(double part, double whole) {
  return whole > 0 ? fmt::format("{:>4.0f}%", 100 * part / whole) : "";
}

/// "2.16 M   85%".
std::string count_of(std::int64_t count, std::int64_t whole) {
  if (whole <= 0) return fmt::format("{:>6}", size_text(count));
  return fmt::format("{:>6} ", size_text(count)) +
         share_of(static_cast<double>(count), static_cast<double>(whole));
}

std::string perplexity_text(double perplexity, double before) {
  return fmt::format("{:>6.2f} {:>+7.1f}%", perplexity, 100 * (perplexity / before - 1));
}

/// "5.1 M   98%".
std::string work_of(const Record& plan) {
  const double after = real_field(plan, "flops_per_token_after");
  return fmt::format("{:>6} ", scaled(after)) +
         share_of(after, real_field(plan, "flops_per_token_before"));
}

/// `named`: the text that follows names the model.
void write_title(const Record& model, const Record& parameters, std::int64_t windows,
                 double perplexity, bool named, const Style& style, std::ostream& out) {
  if (!named) {
    out << style.bold(text_field(model, "name")) << "  " << model_title(model) << ", "
        << size_text(integer_field(model, "parameters")) << " parameters, KV cache "
        << grouped(integer_field(model, "kv_cache_bytes_per_token")) << " bytes per token\n";
  }
  const auto* held_out = parameters.find("eval_file")->get<std::string>();
  const std::string words = scored_words(parameters);
  out << fmt::format("calibrated on {} × {} tokens of {}; perplexity on {} of {}: {:.2f}{}\n\n",
                     integer_field(parameters, "sequences"), integer_field(parameters, "length"),
                     printable(text_field(parameters, "source")), counted(windows, "window"),
                     held_out == nullptr ? "its last tenth" : printable(*held_out), perplexity,
                     words.empty() ? "" : ", over " + words);
}

void write_comparison(const Report& report, const WriteOptions& options, std::ostream& out) {
  const Style style(options.color);
  const Record& model = report.models.front();
  const double before = real_field(model, "perplexity");
  const std::int64_t windows = std::min(integer_field(report.parameters, "eval_windows"),
                                        integer_field(report.parameters, "eval_sequences"));
  write_title(model, report.parameters, windows, before, /*named=*/false, style, out);
  Lines lines(1);
  for (const char* name : {"method", "description", "parameters", "kv_cache_bytes_per_token",
                           "relative_flops", "perplexity", "loadable"}) {
    lines.front().push_back(style.bold(heading("plan", name)));
  }
  std::string last;
  for (const Record& row : report.rows) {
    const std::string form = text_field(row, "method");
    const bool loads = expect<bool>(row, "loadable");
    const std::string remark = text_field(row, "note");
    const double loss = real_field(row, "loss_increase");
    lines.push_back(
        {form == last ? "" : form, text_field(row, "description"),
         count_of(integer_field(row, "parameters"), integer_field(model, "parameters")),
         count_of(integer_field(row, "kv_cache_bytes_per_token"),
                  integer_field(model, "kv_cache_bytes_per_token")),
         share_of(real_field(row, "relative_flops"), 1),
         style.shade(std::clamp(loss, 0.0, 1.0),
                     perplexity_text(real_field(row, "perplexity"), before)),
         (loads ? "yes" : "no") + (remark.empty() ? "" : (loads ? ", " : ": ") + remark)});
    last = form;
  }
  out << align(lines, lines.front().size()) << '\n';
  write_legend(
      "One method and size per row; no training. KV bytes: per token. FLOPs: per token, relative "
      "to the original model. Select with " +
          options.spell("method") + " and " + options.spell("keep") + ", " +
          options.spell("kv_bytes") + " or " + options.spell("max_perplexity") + ".",
      options, out);
}

/// The planned rank of each matrix and its share of the maximum possible rank.
void write_rank_grid(const Report& report, const WriteOptions& options, std::ostream& out) {
  const Style style(options.color);
  LayerGrid grid;
  double dearest = 0;
  const auto expected = [](const Record& row) {
    return number_field(row, "predicted_kl").value_or(0);
  };
  for (const Record& row : report.rows) dearest = std::max(dearest, expected(row));
  for (const Record& row : report.rows) {
    const auto* rank = row.find("rank")->get<std::int64_t>();
    const auto possible = static_cast<double>(integer_field(row, "max_possible_rank"));
    const std::string text =
        rank == nullptr
            ? "full"
            : fmt::format("{} {:>3.0f}%", *rank, 100 * static_cast<double>(*rank) / possible);
    const double shade = dearest > 0 ? expected(row) / dearest : 0;
    grid.set(text_field(row, "model"), integer_field(row, "layer"), LayerGrid::kWhole,
             text_field(row, "matrix"), style.shade(shade, text));
  }
  grid.write(report, options, out);
}

void write_removals(const Report& report, std::ostream& out, const Style& style) {
  Lines lines(1);
  for (const char* name :
       {"layer", "influence", "layer alone", "attention alone", "MLP alone", "plan"}) {
    lines.front().push_back(style.bold(name));
  }
  for (const Record& row : report.rows) {
    const auto* order = row.find("order")->get<std::int64_t>();
    lines.push_back({std::to_string(integer_field(row, "layer")),
                     number_text(row, "block_influence", "{:.3f}"),
                     number_text(row, "loss_increase", "{:+.4f}"),
                     number_text(row, "attention_loss_increase", "{:+.4f}"),
                     number_text(row, "mlp_loss_increase", "{:+.4f}"),
                     order == nullptr ? "kept"
                     : *order == 0    ? "removed"
                                      : fmt::format("removed, {}", *order)});
  }
  out << align(lines) << '\n';
}

void write_chosen(const Report& report, const WriteOptions& options, std::ostream& out) {
  const Style style(options.color);
  const Record& model = report.models.front();
  const Record& plan = expect<Record>(model, "plan");
  const double before = real_field(plan, "perplexity_before");
  const std::string form = text_field(plan, "method");
  write_title(model, report.parameters, integer_field(report.parameters, "eval_windows"), before,
              /*named=*/form == "low-rank", style, out);
  if (form == "low-rank") {
    write_rank_grid(report, options, out);
    write_legend(
        "Rank of each matrix. %: of the maximum possible rank. full: not factored. Parameter "
        "counts below refer to the factors.\n",
        options, out);
  }
  if (form == "depth") {
    write_removals(report, out, style);
    write_legend(
        "influence: 1 − cosine(layer input, layer output). alone: loss increase (nats) if only "
        "this layer, attention or MLP is removed. plan: kept, or position in the removal order.\n",
        options, out);
  }
  const bool loads = expect<bool>(plan, "loadable");
  const std::string remark = text_field(plan, "note");
  Lines lines = {{style.bold(form), text_field(plan, "description")},
                 {"parameters", count_of(integer_field(plan, "parameters_after"),
                                         integer_field(plan, "parameters_before"))},
                 {"KV bytes", count_of(integer_field(plan, "kv_cache_bytes_per_token_after"),
                                       integer_field(plan, "kv_cache_bytes_per_token_before"))},
                 {"FLOPs per token", work_of(plan)}};
  if (const auto* expected = plan.find("predicted_kl")->get<double>()) {
    lines.push_back({"predicted", fmt::format("KL divergence {:.4f} nats", *expected)});
  }
  lines.push_back(
      {"perplexity", perplexity_text(real_field(plan, "perplexity_after"), before) +
                         fmt::format("  ({:+.4f} nats)", real_field(plan, "mean_nll_after") -
                                                             real_field(plan, "mean_nll_before"))});
  lines.push_back({"loads in transformers", loads ? "yes" + (remark.empty() ? "" : ", " + remark)
                                                  : "only in the original shapes: saves nothing"});
  out << align(lines, 2);
}

}  // namespace

void write_plan_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  if (report.models.front().find("plan") != nullptr) {
    write_chosen(report, options, out);
  } else {
    write_comparison(report, options, out);
  }
}

void write_shrink_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  const Style style(options.color);
  const Record& model = report.models.front();
  const Record& shrunk = expect<Record>(model, "compressed");
  std::map<std::string, std::int64_t> changes;
  for (const Record& row : report.rows) ++changes[text_field(row, "change")];
  std::vector<std::string> words;
  for (const auto& [change, count] : changes) words.push_back(fmt::format("{} {}", count, change));
  out << style.bold(text_field(model, "name")) << "  " << text_field(shrunk, "method") << ", "
      << text_field(shrunk, "description") << "\n\n";
  out << align({{"folder", printable(text_field(report.parameters, "folder"))},
                {"tensors", join(words)},
                {"parameters",
                 count_of(integer_field(shrunk, "parameters"), integer_field(model, "parameters"))},
                {"bytes", grouped(integer_field(shrunk, "bytes"))},
                {"perplexity",
                 fmt::format("{:.3f} measured, {:.3f} planned", real_field(shrunk, "perplexity"),
                             real_field(shrunk, "planned_perplexity"))}},
               2);
}

}  // namespace attnscope
