// `experts` for people: a row per layer; for each matrix the energy rank of one expert and of all,
// and how similar they are. On a text: what the router of each layer does.
#include <fmt/format.h>

#include "attnscope/features/all_tables.h"
#include "attnscope/rows/record.h"
#include "attnscope/rows/table/alignment.h"
#include "attnscope/rows/table/layer_grid.h"
#include "attnscope/rows/table/skipped_lines.h"

namespace attnscope {
namespace {

/// At the highest threshold; "-" where there is none.
std::string last_rank(const Record& row, const char* field) {
  const Value* value = row.find(field);
  const auto* ranks = value == nullptr ? nullptr : value->get<Record>();
  if (ranks == nullptr || ranks->fields().empty()) return "-";
  const auto* rank = ranks->fields().back().second.get<std::int64_t>();
  return rank == nullptr ? "-" : std::to_string(*rank);
}

void set_measure(LayerGrid& grid, const Record& row, const std::string& column, std::string text) {
  grid.set(text_field(row, "model"), integer_field(row, "layer"), LayerGrid::kWhole, column,
           std::move(text));
}

}  // namespace

void write_experts_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  LayerGrid grid;
  for (const Record& row : report.rows) {
    const std::string matrix = text_field(row, "matrix");
    const std::string all =
        last_rank(row, "energy_rank") + "/" + last_rank(row, "random_energy_rank");
    const std::string one = last_rank(row, "single_energy_rank");
    set_measure(grid, row, matrix + " rank", one == "-" ? all : one + " " + all);
    set_measure(grid, row, matrix + " alike",
                number_text(row, "mean_similarity", "{:.2f}") + "/" +
                    number_text(row, "random_similarity", "{:.2f}"));
  }
  grid.set_skipped(report, {" rank", " alike"});
  grid.write(report, options, out);
  write_skipped(report, out);
  if (report.rows.empty()) return;
  write_legend(
      "Energy ranks at the highest threshold: of one expert, of all stacked / of random numbers. "
      "Alike: the mean similarity of two / that of random numbers.",
      options, out);
}

void write_routing_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  LayerGrid grid;
  for (const Record& row : report.rows) {
    set_measure(grid, row, "experts in use",
                number_text(row, "effective_experts", "{:.1f}") + " of " +
                    std::to_string(integer_field(row, "experts")));
    set_measure(grid, row, "largest load", number_text(row, "largest_load", "{:.3f}"));
    set_measure(grid, row, "router entropy", number_text(row, "router_entropy", "{:.2f}"));
    std::string weights;
    for (const double weight : expect_vector<double>(row, "mean_weights")) {
      if (weights.size() < 20)
        weights += (weights.empty() ? "" : " ") + fmt::format("{:.2f}", weight);
    }
    set_measure(grid, row, "mean weights", weights);
    set_measure(grid, row, "lift of the top pair", number_text(row, "top_pair_lift", "{:.2f}"));
  }
  grid.write(report, options, out);
  write_skipped(report, out);
  if (report.rows.empty()) return;
  write_legend(std::string() +
                   "Experts in use: e to the entropy of their load; entropy of the router in nats; "
                   "csv and json "
                   "have the load of each expert and which are chosen together." +
                   scored_sentence(report.parameters),
               options, out);
}

}  // namespace attnscope
