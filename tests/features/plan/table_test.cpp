// The tables of `plan` and `shrink`: the comparison of methods, and one plan.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <string>

#include "attnscope/rows/writers.h"

namespace attnscope::test {
namespace {

constexpr double kPerplexity = 22.17;

const std::string kPlanTitle =
    "tiny  llama, 6 layers, 6 heads (2 key/value) of 32, hidden size 192, BF16, 2.56 M parameters, "
    "KV cache 1,536 bytes per token\n"
    "calibrated on 64 × 256 tokens of book.txt; perplexity on 32 windows of its last tenth: 22.17\n"
    "\n";

Record planned_model() {
  return {{"name", "tiny"},
          {"architecture", "llama"},
          {"layers", 6},
          {"heads", 6},
          {"kv_heads", 2},
          {"head_dim", 32},
          {"hidden_size", 192},
          {"dtype", "BF16"},
          {"parameters", 2'558'400},
          {"kv_cache_bytes_per_token", 1536}};
}

Report plan_report() {
  Report report;
  report.command = "plan";
  report.parameters = {{"source", "book.txt"}, {"sequences", 64},    {"length", 256},
                       {"eval_file", Value()}, {"eval_windows", 32}, {"eval_sequences", 48}};
  return report;
}

std::string plan_table(const Report& report, int width = 100) {
  std::ostringstream out;
  send(report, *formats()[0].make({.width = width}, out));
  return out.str();
}

Record comparison_row(const std::string& form, const std::string& choice, std::int64_t parameters,
                      std::int64_t bytes, double perplexity, bool loadable,
                      const std::string& remark) {
  return {{"model", "tiny"},
          {"method", form},
          {"description", choice},
          {"parameters", parameters},
          {"kv_cache_bytes_per_token", bytes},
          {"relative_flops", static_cast<double>(parameters) / 2'558'400},
          {"perplexity", perplexity},
          {"loss_increase", std::log(perplexity / kPerplexity)},
          {"loadable", loadable},
          {"note", remark}};
}

TEST(PlanTable, ComparisonShowsSavingsCostAndLoading) {
  Report report = plan_report();
  report.models = {planned_model().add("perplexity", kPerplexity)};
  report.rows = {
      comparison_row("hidden-size", "192 → 168", 2'312'400, 1536, 22.39, true, "LM head untied"),
      comparison_row("hidden-size", "192 → 96", 1'425'000, 1536, 28.4, true, "LM head untied"),
      comparison_row("mla", "32 rotary + 32 latent + 1", 2'780'000, 780, 22.52, true,
                     "as deepseek_v3"),
      comparison_row("depth", "6 → 5 (without 2)", 2'164'800, 1280, 24.05, true, ""),
      comparison_row("low-rank", "42 matrices as factors", 2'090'000, 1536, 22.1, false,
                     "factors need a custom runtime")};
  EXPECT_EQ(
      plan_table(report),
      kPlanTitle +
          R"(method       description                parameters    KV bytes      FLOPs  perplexity       loads in transformers
hidden-size  192 → 168                  2.31 M   90%   1,536  100%    90%   22.39    +1.0%  yes, LM head untied
             192 → 96                   1.43 M   56%   1,536  100%    56%   28.40   +28.1%  yes, LM head untied
mla          32 rotary + 32 latent + 1  2.78 M  109%     780   51%   109%   22.52    +1.6%  yes, as deepseek_v3
depth        6 → 5 (without 2)          2.16 M   85%   1,280   83%    85%   24.05    +8.5%  yes
low-rank     42 matrices as factors     2.09 M   82%   1,536  100%    82%   22.10    -0.3%  no: factors need a custom runtime

One method and size per row; no training. KV bytes: per token. FLOPs: per token, relative to the
original model. Select with method and keep, kv_bytes or max_perplexity.
)");
}

Record plan_of(const std::string& form, const std::string& choice, std::int64_t parameters,
               std::int64_t bytes, double perplexity, bool loadable) {
  return {{"method", form},
          {"description", choice},
          {"parameters_before", 2'558'400},
          {"parameters_after", parameters},
          {"kv_cache_bytes_per_token_before", 1536},
          {"kv_cache_bytes_per_token_after", bytes},
          {"flops_per_token_before", 5e6},
          {"flops_per_token_after", 4.5e6},
          {"mean_nll_before", std::log(kPerplexity)},
          {"mean_nll_after", std::log(perplexity)},
          {"perplexity_before", kPerplexity},
          {"perplexity_after", perplexity},
          {"predicted_kl", Value()},
          {"loadable", loadable},
          {"note", form == "hidden-size" ? "LM head untied" : ""}};
}

TEST(PlanTable, OneMethodShowsItsResult) {
  Report report = plan_report();
  report.models = {
      planned_model().add("plan", plan_of("mlp", "MLP 512 → 384", 2'116'032, 1536, 22.71, true))};
  EXPECT_EQ(plan_table(report), kPlanTitle + R"(mlp                    MLP 512 → 384
parameters             2.12 M   83%
KV bytes                1,536  100%
FLOPs per token         4.5 M   90%
perplexity              22.71    +2.4%  (+0.0241 nats)
loads in transformers  yes
)");
}

Record removal(std::int64_t layer, double loss, Value order) {
  return {{"model", "tiny"},
          {"method", "depth"},
          {"layer", layer},
          {"block_influence", 0.25},
          {"loss_increase", loss},
          {"attention_loss_increase", loss / 2},
          {"mlp_loss_increase", Value()},
          {"order", std::move(order)}};
}

TEST(PlanTable, DepthPlanListsRemovedLayersAndTheirImportance) {
  Report report = plan_report();
  report.models = {planned_model().add(
      "plan", plan_of("depth", "6 → 4 (without 1-2)", 1'771'200, 1024, 26.5, true))};
  report.rows = {removal(0, 2.5, Value()), removal(1, 0.0814, 2), removal(2, -0.0002, 1),
                 removal(3, 0.125, Value())};
  EXPECT_EQ(plan_table(report),
            kPlanTitle + R"(layer  influence  layer alone  attention alone  MLP alone        plan
0          0.250      +2.5000          +1.2500          -        kept
1          0.250      +0.0814          +0.0407          -  removed, 2
2          0.250      -0.0002          -0.0001          -  removed, 1
3          0.250      +0.1250          +0.0625          -        kept

influence: 1 − cosine(layer input, layer output). alone: loss increase (nats) if only this layer,
attention or MLP is removed. plan: kept, or position in the removal order.

depth                  6 → 4 (without 1-2)
parameters             1.77 M   69%
KV bytes                1,024   67%
FLOPs per token         4.5 M   90%
perplexity              26.50   +19.5%  (+0.1784 nats)
loads in transformers  yes
)");
}

Record rank_row(std::int64_t layer, const std::string& matrix, Value rank, Value expected) {
  return {{"model", "tiny"},
          {"method", "low-rank"},
          {"layer", layer},
          {"matrix", matrix},
          {"rank", std::move(rank)},
          {"max_possible_rank", 192},
          {"predicted_kl", std::move(expected)}};
}

TEST(PlanTable, LowRankPlanShowsRanksAndThatTransformersSavesNothing) {
  Report report = plan_report();
  Record plan = plan_of("low-rank", "3 matrices as factors", 2'090'000, 1536, 22.37, false);
  Record made;
  for (const auto& [name, value] : plan.fields()) {
    made.add(name, name == "predicted_kl" ? Value(0.0123) : value);
  }
  report.models = {planned_model().add("plan", made)};
  report.rows = {rank_row(0, "q", 24, 0.01), rank_row(0, "down", Value(), 0.0),
                 rank_row(1, "q", 8, 0.002), rank_row(1, "down", 96, Value())};
  EXPECT_EQ(
      plan_table(report),
      R"(calibrated on 64 × 256 tokens of book.txt; perplexity on 32 windows of its last tenth: 22.17

tiny  llama, 6 layers, 6 heads (2 key/value) of 32, hidden size 192, BF16

layer        q     down
0      24  12%     full
1       8   4%  96  50%

Rank of each matrix. %: of the maximum possible rank. full: not factored. Parameter counts below
refer to the factors.

low-rank               3 matrices as factors
parameters             2.09 M   82%
KV bytes                1,536  100%
FLOPs per token         4.5 M   90%
predicted              KL divergence 0.0123 nats
perplexity              22.37    +0.9%  (+0.0090 nats)
loads in transformers  only in the original shapes: saves nothing
)");
}

TEST(PlanTable, ShrinkShowsWhatWasWrittenAndMeasured) {
  Report report;
  report.command = "shrink";
  report.parameters = {{"plan", "plan.json"}, {"folder", "smaller"}};
  report.models = {planned_model().add("compressed", Record{{"method", "mlp"},
                                                            {"description", "MLP 512 → 384"},
                                                            {"parameters", 2'116'032},
                                                            {"bytes", 4'234'000},
                                                            {"planned_perplexity", 22.71},
                                                            {"perplexity", 22.709}})};
  for (const char* change : {"kept", "cut", "cut", "replaced"}) {
    report.rows.push_back({{"model", "tiny"}, {"tensor", "a"}, {"change", change}});
  }
  EXPECT_EQ(plan_table(report), R"(tiny  mlp, MLP 512 → 384

folder      smaller
tensors     2 cut, 1 kept, 1 replaced
parameters  2.12 M   83%
bytes       4,234,000
perplexity  22.709 measured, 22.710 planned
)");
}

}  // namespace
}  // namespace attnscope::test
