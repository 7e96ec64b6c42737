// Table of `experts`: one row per layer. For each matrix, the energy rank of one expert and of all
// experts, and their similarity. On a text: routing statistics per layer.
#include <fmt/format.h>

#include "attnscope/features/all_tables.h"
#include "attnscope/rows/record.h"
#include "attnscope/rows/table/alignment.h"
#include "attnscope/rows/table/layer_grid.h"
#include "attnscope/rows/table/skipped_lines.h"

namespace attnscope {
namespace {

/// The rank at the highest threshold; "-" if there is none.
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
    set_measure(grid, row, matrix + " similarity",
                number_text(row, "mean_similarity", "{:.2f}") + "/" +
                    number_text(row, "random_similarity", "{:.2f}"));
  }
  grid.set_skipped(report, {" rank", " similarity"});
  grid.write(report, options, out);
  write_skipped(report, out);
  if (report.rows.empty()) return;
  write_legend(
      "rank: energy rank at the highest threshold, first of a single expert, then of all experts "
      "stacked / of a Gaussian matrix of that shape. similarity: mean over pairs of experts / of "
      "Gaussian matrices.",
      options, out);
}

void write_routing_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  LayerGrid grid;
  for (const Record& row : report.rows) {
    set_measure(grid, row, "effective experts",
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
    set_measure(grid, row, "top-pair lift", number_text(row, "top_pair_lift", "{:.2f}"));
  }
  grid.write(report, options, out);
  write_skipped(report, out);
  if (report.rows.empty()) return;
  write_legend(
      std::string() +
          "effective experts: exponential of the entropy of the load. router entropy: in nats. CSV "
          "and JSON also contain the load of each expert and the co-activation of pairs." +
          scored_sentence(report.parameters),
      options, out);
}

}  // namespace attnscope
