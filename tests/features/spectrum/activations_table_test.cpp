// The table of `spectrum --activations`: three energy ranks per matrix, at the last threshold.
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "attnscope/rows/writers.h"

namespace attnscope::test {
namespace {

Record text_ranks(std::int64_t at_90, std::int64_t at_99) {
  return {{"0.9", at_90}, {"0.99", at_99}};
}

Record row_on_text(std::int64_t layer, const std::string& matrix, std::int64_t own,
                   std::int64_t given, std::int64_t read) {
  return {{"model", "tiny"},
          {"layer", layer},
          {"matrix", matrix},
          {"shape", std::vector<std::int64_t>{64, 64}},
          {"energy_rank", text_ranks(own / 2, own)},
          {"random_energy_rank", text_ranks(33, 50)},
          {"activation_energy_rank", text_ranks(given / 2, given)},
          {"input_energy_rank", text_ranks(read / 2, read)},
          {"input_top_share", 0.5},
          {"max_possible_rank", 64}};
}

TEST(ActivationTable, ShowsRanksOfWeightsOutputsAndInputs) {
  Report report;
  report.command = "spectrum";
  report.parameters = {{"energy", std::vector<double>{0.9, 0.99}}, {"activations", "book.txt"}};
  report.models = {{{"name", "tiny"},
                    {"architecture", "llama"},
                    {"layers", 2},
                    {"heads", 4},
                    {"head_dim", 16},
                    {"hidden_size", 64},
                    {"dtype", "F32"}}};
  report.rows = {row_on_text(0, "q", 50, 20, 30), row_on_text(0, "down", 60, 8, 110),
                 row_on_text(1, "q", 48, 22, 33)};
  report.skipped = {{.model = "tiny",
                     .layer = 1,
                     .matrix = "down",
                     .head = std::nullopt,
                     .reason = "what 'down' of layer 1 reads holds NaN or infinity"}};
  std::ostringstream out;
  send(report, *formats()[0].make({.width = 80}, out));
  EXPECT_EQ(out.str(), R"(tiny  llama, 2 layers, 4 heads of 16, hidden size 64, F32

layer               q            down
0        50   20   30    60    8  110
1        48   22   33               -

skipped: tiny: down of layer 1: what 'down' of layer 1 reads holds NaN or infinity
Number of directions needed for 0.99 of the energy, in this order: of the
weights, of the outputs on the text, of the inputs.
)");
}

}  // namespace
}  // namespace attnscope::test
