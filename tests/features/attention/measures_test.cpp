// Measures of maps, compared with results by hand, plain loops, and LAPACK's singular values.
#include "attnscope/features/attention/measures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <vector>

#include "attnscope/features/spectrum/measures.h"
#include "attnscope/numerics/svd/singular_values.h"
#include "attnscope/rows/field.h"
#include "tests/support/attention_maps.h"
#include "tests/support/compute.h"
#include "tests/support/matrices.h"

namespace attnscope {
namespace {

using namespace test;

Matrix<float> map_of(const std::vector<std::vector<double>>& rows) {
  const auto size = static_cast<std::int64_t>(rows.size());
  Matrix<float> map(size, size);
  for (std::int64_t query = 0; query < size; ++query) {
    for (std::int64_t key = 0; key < size; ++key) {
      map(query, key) =
          static_cast<float>(rows[static_cast<std::size_t>(query)][static_cast<std::size_t>(key)]);
    }
  }
  return map;
}

AttentionMapMeasures measured(const Matrix<float>& map, const AttentionMapOptions& options = {}) {
  const std::vector<MatrixView<const float>> views = {map.view()};
  return measure_attention_maps(views, options, test_compute()).front();
}

Matrix<float> by_hand() {
  return map_of({{1, 0, 0, 0}, {0.5, 0.5, 0, 0}, {0.5, 0.25, 0.25, 0}, {0, 0.5, 0, 0.5}});
}

TEST(MapMeasures, AreTheFieldsOfRowsInTheirOrder) {
  std::vector<const Field*> means;
  for (const Field& field : find_row_kind("attention").fields) {
    // The attended-token effect and the output ratio depend on more than the map.
    const bool of_map = field.name != "attended_token_effect" && field.name != "output_ratio";
    if (!field.mean_of.empty() && of_map) means.push_back(&field);
  }
  ASSERT_EQ(means.size(), map_measures().size());
  for (std::size_t at = 0; at < means.size(); ++at) {
    EXPECT_EQ(means[at]->mean_of, map_measures()[at].name);
    EXPECT_EQ(means[at]->name, map_measures()[at].field);
  }
}

TEST(AttentionMap, MatchesResultsByHand) {
  const AttentionMapMeasures got = measured(by_hand(), {.causal = true});
  // Entropies of the rows: 0, ln 2, 1.5 ln 2, ln 2.
  EXPECT_NEAR(got.value("entropy").value(), 3.5 * std::log(2.0) / 4, 1e-11);
  EXPECT_DOUBLE_EQ(got.value("sink_mass").value(), 2.0 / 4);
  EXPECT_DOUBLE_EQ(got.value("previous_token").value(), (0.5 + 0.25 + 0) / 3);
  EXPECT_DOUBLE_EQ(got.value("current_token").value(), (1 + 0.5 + 0.25 + 0.5) / 4);
  EXPECT_DOUBLE_EQ(got.value("distance").value(), (0 + 0.5 + (1 + 0.25) + 1) / 4);
  EXPECT_EQ(got.value("learned_sink_mass"), 0);
  // Energy of the columns: 1.5, 0.5625, 0.0625, 0.25 of 2.375. Three have 97% of it, two 87%.
  EXPECT_EQ(got.value("energy_columns"), 3);
  EXPECT_EQ(got.top_columns, (std::vector<std::int64_t>{0, 1, 3}));
  EXPECT_DOUBLE_EQ(got.value("first_column_share").value(), 1.5 / 2.375);
}

TEST(AttentionMap, SumsTheAttentionBetweenTheTextsOfAPair) {
  const Matrix<float> map = map_of(
      {{0.25, 0.25, 0.25, 0.25}, {0.125, 0.5, 0.25, 0.125}, {0, 0.5, 0.25, 0.25}, {1, 0, 0, 0}});
  // A special token, one token of A, two of B.
  const AttentionMapMeasures got = measured(map, {.texts = {-1, 0, 1, 1}});
  EXPECT_DOUBLE_EQ(got.value("a_to_b").value(), 0.25 + 0.125);
  EXPECT_DOUBLE_EQ(got.value("b_to_a").value(), (0.5 + 0) / 2);
  const std::vector<std::int64_t> last = {3};
  const AttentionMapMeasures scored = measured(map, {.queries = last, .texts = {-1, 0, 1, 1}});
  EXPECT_FALSE(scored.value("a_to_b"));
  EXPECT_DOUBLE_EQ(scored.value("b_to_a").value(), 0);
  EXPECT_FALSE(measured(map).value("a_to_b"));
}

TEST(AttentionMap, ReportsTheLearnedSinkMass) {
  const Matrix<float> map =
      map_of({{0.25, 0, 0, 0}, {0.5, 0.25, 0, 0}, {0.5, 0.25, 0.25, 0}, {0, 0, 0, 0}});
  for (const bool causal : {false, true}) {
    const AttentionMapMeasures got = measured(map, {.causal = causal});
    EXPECT_DOUBLE_EQ(got.value("learned_sink_mass").value(), (0.75 + 0.25 + 0 + 1) / 4);
    EXPECT_DOUBLE_EQ(got.value("sink_mass").value(), 1.25 / 4) << "not divided by what is left";
  }
}

TEST(AttentionMap, IgnoresRoundingInTheLearnedSinkMass) {
  for (const std::int64_t tokens : {3, 100, 1000}) {
    const Matrix<float> map = softmax_map(tokens, 8, 2.0, /*causal=*/true, 5);
    EXPECT_EQ(measured(map, {.causal = true}).value("learned_sink_mass"), 0) << tokens;
  }
}

TEST(AttentionMap, ExcludesTheFirstTokenFromRankAndEnergyColumnsOnly) {
  const AttentionMapMeasures with = measured(by_hand());
  for (const bool causal : {false, true}) {
    const AttentionMapMeasures got =
        measured(by_hand(), {.energy = 0.7, .exclude_first_token = true, .causal = causal});
    // 0.5625, 0.0625, 0.25 of 0.875: 64%, then 93%.
    EXPECT_EQ(got.value("energy_columns"), 2);
    EXPECT_EQ(got.top_columns, (std::vector<std::int64_t>{1, 3}));
    EXPECT_DOUBLE_EQ(got.value("first_column_share").value(), 0.5625 / 0.875);
    EXPECT_EQ(got.value("entropy"), with.value("entropy"));
    EXPECT_EQ(got.value("sink_mass"), with.value("sink_mass"));
    EXPECT_EQ(got.value("distance"), with.value("distance"));
    EXPECT_EQ(got.value("energy_rank"), 1);
  }
}

TEST(AttentionMap, CountsAThresholdMissedOnlyByRoundingAsReached) {
  const AttentionMapMeasures identity = measured(converted<float>(identity_matrix(10, 10)));
  EXPECT_EQ(identity.value("energy_rank"), 9);
  EXPECT_EQ(identity.value("energy_columns"), 9);
  EXPECT_EQ(identity.top_columns, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_DOUBLE_EQ(identity.value("first_column_share").value(), 0.1);
}

TEST(AttentionMap, OneColumnHasRankOneAndOneEnergyColumn) {
  const AttentionMapMeasures got = measured(one_column_map(100, 0), {.causal = true});
  EXPECT_EQ(got.value("energy_rank"), 1);
  EXPECT_EQ(got.value("energy_columns"), 1);
  EXPECT_EQ(got.top_columns, (std::vector<std::int64_t>{0}));
  EXPECT_EQ(got.value("first_column_share").value(), 1);
  EXPECT_EQ(got.value("entropy"), 0);
  EXPECT_EQ(got.value("sink_mass"), 1);
  // All attention was on the first token.
  const AttentionMapMeasures rest = measured(one_column_map(100, 0), {.exclude_first_token = true});
  EXPECT_EQ(rest.value("energy_rank"), 0);
  EXPECT_EQ(rest.value("energy_columns"), 0);
  EXPECT_TRUE(rest.top_columns.empty());
  EXPECT_FALSE(rest.value("first_column_share"));
}

TEST(AttentionMap, OneTokenHasNoPreviousToken) {
  for (const bool exclude_first_token : {false, true}) {
    for (const bool causal : {false, true}) {
      const AttentionMapMeasures got =
          measured(map_of({{1}}), {.exclude_first_token = exclude_first_token, .causal = causal});
      EXPECT_EQ(got.value("energy_rank"), exclude_first_token ? 0 : 1);
      EXPECT_FALSE(got.value("previous_token"));
      EXPECT_EQ(got.value("current_token"), 1);
      EXPECT_EQ(got.value("distance"), 0);
    }
  }
  EXPECT_TRUE(measure_attention_maps({}).empty());
}

TEST(AttentionMap, ReadsMapsInsideLargerArrays) {
  const Matrix<float> whole = softmax_map(40, 8, 2.0, /*causal=*/false, 3);
  Matrix<float> part(17, 17);
  for (std::int64_t query = 0; query < 17; ++query) {
    for (std::int64_t key = 0; key < 17; ++key) part(query, key) = whole(query + 3, key + 5);
  }
  const std::vector<MatrixView<const float>> inside = {whole.view().block(3, 17, 5, 17)};
  const AttentionMapMeasures got = measure_attention_maps(inside, {}, test_compute()).front();
  const AttentionMapMeasures expected = measured(part);
  EXPECT_EQ(got.value("energy_rank"), expected.value("energy_rank"));
  EXPECT_EQ(got.top_columns, expected.top_columns);
  EXPECT_EQ(got.value("entropy"), expected.value("entropy"));
  EXPECT_EQ(got.value("distance"), expected.value("distance"));
}

/// Compares with the definitions in plain loops.
void expect_as_defined(const Matrix<float>& map, const AttentionMapMeasures& got,
                       const AttentionMapOptions& options) {
  const std::int64_t size = map.rows();
  const auto queries = static_cast<double>(size);
  double entropy = 0, distance = 0, sink = 0, diagonal = 0, previous = 0;
  std::vector<double> squares(static_cast<std::size_t>(size), 0.0);
  for (std::int64_t query = 0; query < size; ++query) {
    for (std::int64_t key = 0; key < size; ++key) {
      const double weight = map(query, key);
      if (weight > 0) entropy -= weight * std::log(weight);
      distance += weight * static_cast<double>(std::abs(query - key));
      squares[static_cast<std::size_t>(key)] += weight * weight;
    }
    sink += map(query, 0);
    diagonal += map(query, query);
    if (query > 0) previous += map(query, query - 1);
  }
  EXPECT_NEAR(got.value("entropy").value(), entropy / queries, 1e-11 * (1 + entropy / queries));
  EXPECT_NEAR(got.value("distance").value(), distance / queries, 1e-12 * queries);
  EXPECT_NEAR(got.value("sink_mass").value(), sink / queries, 1e-14);
  EXPECT_NEAR(got.value("current_token").value(), diagonal / queries, 1e-14);
  EXPECT_NEAR(got.value("previous_token").value(), previous / (queries - 1), 1e-14);

  const std::int64_t first = options.exclude_first_token ? 1 : 0;
  squares.erase(squares.begin(), squares.begin() + first);
  std::sort(squares.begin(), squares.end(), std::greater<>());
  const double total = std::accumulate(squares.begin(), squares.end(), 0.0);
  std::int64_t columns = 0;
  if (total > 0) {
    double sum = 0;
    while (sum < options.energy * total * (1 - 1e-12)) {
      sum += squares[static_cast<std::size_t>(columns++)];
    }
    EXPECT_NEAR(got.value("first_column_share").value(), squares.front() / total, 1e-13);
  }
  EXPECT_EQ(got.value("energy_columns"), columns);
  EXPECT_EQ(std::ssize(got.top_columns), std::min<std::int64_t>(columns, kTopColumns));

  const Matrix<double> exact = converted<double>(map);
  const Matrix<double>& all = exact;
  const auto values =
      fallback_solvers()[0].solve(all.view().col_block(first, size - first)).value();
  EXPECT_EQ(got.value("energy_rank"), energy_rank(values, options.energy));
}

TEST(AttentionMap, MatchesTheDefinitionsForMapsOfEveryKind) {
  for (const std::int64_t tokens : {2, 7, 33, 100, 128, 150}) {
    for (const NamedMap& named : maps_of_every_kind(tokens)) {
      if (named.name == "low rank and noise") continue;  // has negative weights
      for (const bool exclude_first_token : {false, true}) {
        SCOPED_TRACE(named.name + ", " + std::to_string(tokens));
        const AttentionMapOptions options{.exclude_first_token = exclude_first_token};
        expect_as_defined(named.map, measured(named.map, options), options);
      }
    }
  }
}

TEST(AttentionMap, TheCausalFlagDoesNotChangeACausalMap) {
  const Matrix<float> map = softmax_map(77, 8, 2.0, /*causal=*/true, 5);
  for (const bool exclude_first_token : {false, true}) {
    const AttentionMapMeasures plain = measured(map, {.exclude_first_token = exclude_first_token});
    const AttentionMapMeasures causal =
        measured(map, {.exclude_first_token = exclude_first_token, .causal = true});
    EXPECT_EQ(plain.value("energy_rank"), causal.value("energy_rank"));
    EXPECT_EQ(plain.top_columns, causal.top_columns);
    EXPECT_NEAR(plain.value("entropy").value(), causal.value("entropy").value(), 1e-13);
    EXPECT_NEAR(plain.value("distance").value(), causal.value("distance").value(), 1e-12);
  }
}

TEST(AttentionMap, HasTheSameDigitsForAnyNumberOfThreads) {
  for (const std::int64_t tokens : {60, 140}) {
    std::vector<Matrix<float>> maps;
    std::vector<MatrixView<const float>> views;
    for (std::uint64_t seed = 0; seed < 75; ++seed) {
      maps.push_back(softmax_map(tokens, 8, 0.1 * static_cast<double>(seed), true, seed));
    }
    for (const Matrix<float>& map : maps) views.push_back(map.view());
    const auto alone = measure_attention_maps(views, {.causal = true}, test_compute());
    LentTeam team(3);
    const auto together = measure_attention_maps(views, {.causal = true}, team.compute());
    ASSERT_EQ(alone.size(), together.size());
    for (std::size_t index = 0; index < alone.size(); ++index) {
      EXPECT_EQ(alone[index].value("energy_rank"), together[index].value("energy_rank"));
      EXPECT_EQ(alone[index].top_columns, together[index].top_columns);
      EXPECT_EQ(alone[index].value("entropy"), together[index].value("entropy"));
      EXPECT_EQ(alone[index].value("distance"), together[index].value("distance"));
      EXPECT_EQ(alone[index].value("first_column_share"),
                together[index].value("first_column_share"));
    }
  }
}

// ---- Repeated random tokens ---------------------------------------------------------------------

TEST(RepeatedTokens, ScoreTheAttentionOfTheSecondBlock) {
  // Two blocks of 3: the tokens of queries 3 to 5 repeat those of queries 0 to 2.
  Matrix<float> map = converted<float>(zero_matrix(6, 6));
  for (std::int64_t query = 3; query < 6; ++query) {
    map(query, query - 2) = 0.75F;
    map(query, query - 3) = 0.125F * static_cast<float>(query - 2);
  }
  EXPECT_DOUBLE_EQ(induction_score(map.view(), 3).value(), 0.75);
  EXPECT_DOUBLE_EQ(duplicate_token_score(map.view(), 3).value(), 0.25);
  // Tokens before and after the two blocks do not count.
  Matrix<float> longer = converted<float>(zero_matrix(9, 9));
  for (std::int64_t query = 0; query < 6; ++query) {
    for (std::int64_t key = 0; key < 6; ++key) longer(query + 1, key + 1) = map(query, key);
  }
  EXPECT_DOUBLE_EQ(induction_score(longer.view(), 3, 1).value(), 0.75);
  EXPECT_DOUBLE_EQ(duplicate_token_score(longer.view(), 3, 1).value(), 0.25);
}

TEST(RepeatedTokens, HaveNoScoreWithoutASecondBlock) {
  const Matrix<float> map = uniform_causal_map(4);
  EXPECT_FALSE(induction_score(map.view(), 0));
  EXPECT_FALSE(induction_score(map.view(), 4));
  EXPECT_FALSE(duplicate_token_score(map.view(), 5));
  EXPECT_TRUE(induction_score(map.view(), 3));
}

TEST(AttentionMap, CrossAttentionHasNoMeasuresOfPositions) {
  // 3 queries over 5 keys; the rank is 2 by hand.
  Matrix<float> map(3, 5);
  const float weights[3][5] = {{1, 0, 0, 0, 0}, {1, 0, 0, 0, 0}, {0, 0.5, 0.5, 0, 0}};
  for (std::int64_t query = 0; query < 3; ++query) {
    for (std::int64_t key = 0; key < 5; ++key) map(query, key) = weights[query][key];
  }
  const AttentionMapMeasures got = measured(map, {.energy = 0.9, .across = true});
  EXPECT_EQ(got.value("energy_rank"), 2);     // energies 2 and 0.5
  EXPECT_EQ(got.value("energy_columns"), 2);  // 2, 0.25, 0.25: 90% is 2.25
  EXPECT_NEAR(got.value("sink_mass").value(), 2.0 / 3, 1e-7);
  EXPECT_NEAR(got.value("entropy").value(), std::log(2.0) / 3, 1e-7);
  for (const char* of_places : {"previous_token", "current_token", "distance"}) {
    EXPECT_FALSE(got.value(of_places)) << of_places;
  }
}

TEST(AttentionMap, AnyShapeHasTheRankOfItsSingularValues) {
  for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{7, 40}, {150, 20}}) {
    const Matrix<float> square = softmax_map(std::max(rows, cols), 6, 3, /*causal=*/false, 5);
    const MatrixView<const float> map = square.view().block(0, rows, 0, cols);
    Matrix<double> exact(rows, cols);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t col = 0; col < cols; ++col) exact(row, col) = map(row, col);
    }
    const auto values = plain_singular_values(std::as_const(exact).view()).values;
    const std::vector<MatrixView<const float>> views = {map};
    EXPECT_EQ(measure_attention_maps(views, {.across = true}, test_compute())
                  .front()
                  .value("energy_rank"),
              static_cast<double>(energy_rank(values, 0.9)));
  }
}

}  // namespace
}  // namespace attnscope
