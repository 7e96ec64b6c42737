// The table of `spectrum --mla`: at most as wide as the terminal, with the size of the cache.
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "attnscope/base/text.h"
#include "attnscope/rows/table/style.h"
#include "attnscope/rows/writers.h"

namespace attnscope::test {
namespace {

Record mla_half(std::int64_t rank, std::int64_t share_rank,
                const std::vector<std::string>& thresholds) {
  Record ranks, nulls;
  for (const std::string& threshold : thresholds) {
    ranks.add(threshold, 10'234);
    nulls.add(threshold, 12'345);
  }
  return {{"rank", rank},
          {"energy", 0.987},
          {"random_energy", 0.123},
          {"share_rank", share_rank},
          {"share_energy", 0.876},
          {"share_random_energy", 0.012},
          {"energy_rank", ranks},
          {"random_energy_rank", nulls},
          {"max_possible_rank", 16'384}};
}

Record mla_cache(std::int64_t latent, std::int64_t rope, std::int64_t bytes) {
  return {{"latent", latent}, {"rope", rope}, {"bytes_per_token", bytes}};
}

/// A model larger than any existing one.
Report mla_report(const std::vector<std::string>& thresholds) {
  Report report;
  report.command = "spectrum";
  report.parameters = {{"mla", true}};
  report.models.push_back({{"name", "large-model"},
                           {"architecture", "llama"},
                           {"layers", 126},
                           {"heads", 128},
                           {"kv_heads", 128},
                           {"head_dim", 128},
                           {"hidden_size", 16'384},
                           {"dtype", "BF16"},
                           {"kv_cache_bytes_per_token", std::int64_t{8'257'536}},
                           {"mla_cache", mla_cache(512, 64, 145'152)},
                           {"mla_cache_at_share", mla_cache(1638, 205, 464'436)}});
  for (const std::int64_t layer : {0, 125}) {
    report.rows.push_back({{"model", "large-model"},
                           {"layer", layer},
                           {"query", mla_half(1536, 4915, thresholds)},
                           {"kv", mla_half(512, 1638, thresholds)}});
  }
  return report;
}

TEST(MlaTable, HasNoLineOverTheWidth) {
  for (const std::vector<std::string>& thresholds :
       {std::vector<std::string>{"0.9"}, {"0.6", "0.8", "0.9", "0.99"}}) {
    for (const bool color : {false, true}) {
      std::ostringstream out;
      send(mla_report(thresholds), *formats()[0].make({.color = color, .width = 80}, out));
      const std::string table = out.str();
      for (const std::string& line : split(table, '\n')) {
        EXPECT_LE(display_width(line), 80U) << line;
      }
      EXPECT_NE(table.find("8,257,536 now"), std::string::npos) << table;
      EXPECT_NE(table.find("464,436 (6%) with a latent of 1638 and a rotary key of 205"),
                std::string::npos)
          << table;
    }
  }
}

}  // namespace
}  // namespace attnscope::test
