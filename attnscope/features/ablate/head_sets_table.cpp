// Tables of `ablate --heads`, `--pairs` and `--cumulative`.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "attnscope/base/text.h"
#include "attnscope/features/all_tables.h"
#include "attnscope/rows/field.h"
#include "attnscope/rows/table/alignment.h"
#include "attnscope/rows/table/cells.h"
#include "attnscope/rows/table/layer_grid.h"
#include "attnscope/rows/table/style.h"

namespace attnscope {
namespace {

/// "+12.3 ±0.4": nats as millinats.
std::string millinats_text(const Record& row, const std::string& name) {
  const auto value = number_field(row, name);
  if (!value) return "-";
  const auto error = number_field(row, name + "_error");
  return fmt::format("{:+.1f}", 1000 * *value) +
         (error ? fmt::format(" ±{:.1f}", 1000 * *error) : "");
}

std::string replaced_by(const Report& report) {
  const std::string how = text_field(report.parameters, "ablation");
  if (how == "zero") return "zeros";
  if (how == "mean") return "its mean over the text";
  const bool pairs = integer_field(report.parameters, "target_length") > 0;
  return std::string("its output on the next ") + (pairs ? "pair" : "window");
}

std::string baseline_text(const Record& row) {
  return fmt::format("\nbaseline loss {} nats over {}\n\n", number_text(row, "loss", "{:.4f}"),
                     counted(integer_field(row, "predicted"), "token"));
}

/// Long lists of heads would make the table unreadable; their number tells enough.
std::string heads_cell(const Record& row) {
  const std::string heads = text_field(row, "heads");
  const std::int64_t count = integer_field(row, "count");
  constexpr std::int64_t kShown = 6;
  return count > kShown ? counted(count, "head") : heads;
}

void write_sets(std::vector<const Record*> rows, const Style& style, std::ostream& out) {
  // The largest interaction first; then single heads by their effect.
  const auto rank = [](const Record* row) {
    const auto interaction = number_field(*row, "interaction");
    return std::pair(interaction ? 0 : 1,
                     -std::abs(interaction.value_or(number_or_nan(*row, "loss_increase"))));
  };
  std::ranges::stable_sort(rows, {}, rank);
  constexpr std::size_t kShownPairs = 20;
  std::vector<std::vector<std::string>> lines = {
      {style.bold("ablated together"), style.bold("loss increase"), style.bold("sum of each alone"),
       style.bold("interaction"), style.bold("kl"), style.bold("top-1 changed")}};
  std::size_t sets = 0;
  for (const Record* row : rows) {
    if (integer_field(*row, "count") > 1 && ++sets > kShownPairs) continue;
    lines.push_back({heads_cell(*row), millinats_text(*row, "loss_increase"),
                     millinats_text(*row, "sum_of_increases"), millinats_text(*row, "interaction"),
                     number_text(*row, "kl", "{:.4f}"),
                     number_text(*row, "top_token_changed", "{:.3f}")});
  }
  out << align(lines);
  if (sets > kShownPairs) {
    out << style.dim(fmt::format("… and {} with smaller interactions; JSON and CSV have all\n",
                                 counted(static_cast<std::int64_t>(sets - kShownPairs), "set")));
  }
}

/// The loss increases of one number of ablated heads.
struct RemovedHeads {
  double by_effect = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> random;

  double mean_of_random() const {
    double sum = 0;
    for (const double increase : random) sum += increase;
    return sum / static_cast<double>(random.size());
  }
};

using RemovalCurve = std::map<std::int64_t, RemovedHeads>;  // by the number of ablated heads

RemovalCurve removal_curve(const std::vector<const Record*>& rows) {
  RemovalCurve curve;
  for (const Record* row : rows) {
    RemovedHeads& heads = curve[integer_field(*row, "removed")];
    const double increase = number_or_nan(*row, "loss_increase");
    if (text_field(*row, "order") == "effect") {
      heads.by_effect = increase;
    } else {
      heads.random.push_back(increase);
    }
  }
  return curve;
}

/// The largest measured number of heads up to which no loss increase exceeds `most`; 0 if the first
/// one does.
template <class Increase>
std::int64_t removable(const RemovalCurve& curve, double most, const Increase& increase) {
  std::int64_t count = 0;
  for (const auto& [removed, heads] : curve) {
    if (!(increase(heads) <= most)) break;
    count = removed;
  }
  return count;
}

void write_curve(const std::vector<const Record*>& rows, const Style& style, std::ostream& out) {
  const RemovalCurve curve = removal_curve(rows);
  const std::int64_t all = curve.rbegin()->first;
  double largest = 1e-9;
  for (const auto& [removed, heads] : curve) largest = std::max(largest, heads.by_effect);
  std::vector<std::vector<std::string>> lines = {{style.bold("heads ablated"),
                                                  style.bold("by effect"), style.bold("at random"),
                                                  style.bold("range")}};
  for (const auto& [removed, heads] : curve) {
    const auto [low, high] = std::ranges::minmax(heads.random);
    lines.push_back({fmt::format("{} of {}", removed, all),
                     style.shade(std::clamp(heads.by_effect / largest, 0.0, 1.0),
                                 fmt::format("{:+.1f}", 1000 * heads.by_effect)),
                     fmt::format("{:+.1f}", 1000 * heads.mean_of_random()),
                     style.dim(fmt::format("{:+.1f} … {:+.1f}", 1000 * low, 1000 * high))});
  }
  out << align(lines) << '\n';
  constexpr double kMost = 0.1;  // nats
  out << fmt::format(
      "Loss increase at most 100 millinats: up to {} of {} heads ablated by effect, {} at "
      "random.\n",
      removable(curve, kMost, [](const RemovedHeads& heads) { return heads.by_effect; }), all,
      removable(curve, kMost, [](const RemovedHeads& heads) { return heads.mean_of_random(); }));
}

std::int64_t count_orders(const std::vector<Record>& rows) {
  std::int64_t count = 0;
  for (const Record& row : rows) count = std::max(count, integer_field(row, "draw", -1) + 1);
  return count;
}

template <class Write>
void write_each_model(const Report& report, const WriteOptions& options, std::ostream& out,
                      const Write& write) {
  const Style style(options.color);
  for (const Record& model : report.models) {
    const std::string name = text_field(model, "name");
    const std::vector<const Record*> rows = rows_of_model(report, name);
    if (rows.empty()) continue;
    out << style.bold(printable(name)) << "  " << style.dim(model_title(model)) << "\n\n";
    write(rows, style, out);
    out << baseline_text(*rows.front());
  }
}

}  // namespace

void write_ablate_sets_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  write_each_model(report, options, out, write_sets);
  if (report.rows.empty()) return;
  write_legend("Loss increase (millinats) when the output of each of these heads is replaced by " +
                   replaced_by(report) +
                   ". Interaction: the increase beyond the sum of each head's alone; positive if "
                   "the heads replace each other. ±: standard error." +
                   scored_sentence(report.parameters),
               options, out);
}

void write_ablate_cumulative_table(const Report& report, const WriteOptions& options,
                                   std::ostream& out) {
  write_each_model(report, options, out, write_curve);
  if (report.rows.empty()) return;
  write_legend(
      "Loss increase (millinats) when more and more heads are ablated together: the output "
      "of each is replaced by " +
          replaced_by(report) +
          ". By effect: the heads with the smallest loss increase alone, on this text, "
          "first. At random: mean of " +
          counted(count_orders(report.rows), "random order") + "." +
          scored_sentence(report.parameters),
      options, out);
}

}  // namespace attnscope
