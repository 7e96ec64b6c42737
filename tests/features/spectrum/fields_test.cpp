// The fields of spectrum rows and their order.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attnscope/features/spectrum/measures.h"

namespace attnscope {
namespace {

TEST(SpectrumFields, AreInTheDocumentedOrder) {
  const std::vector<double> values = {4, 2, 1, 0};
  Record row = {{"layer", 3}};
  add_spectrum_fields(row, {values}, {6, 4},
                      {.thresholds = {0.6, 0.8, 0.9, 0.99},
                       .ranks = {{"2", 2}, {"0.5D", 1}, {"9", 9}},
                       .with_values = true});
  std::vector<std::string> names;
  for (const auto& [name, value] : row.fields()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{
                       "layer", "shape", "energy_rank", "random_energy_rank", "energy_at_rank",
                       "random_energy_at_rank", "stable_rank", "effective_rank",
                       "participation_ratio", "numerical_rank", "max_possible_rank",
                       "spectral_norm", "frobenius_norm", "nuclear_norm", "condition_number",
                       "singular_values", "cumulative_energy", "random_singular_values"}));

  const Record& ranks = *row.find("energy_rank")->get<Record>();
  ASSERT_EQ(ranks.fields().size(), 4);
  EXPECT_EQ(ranks.fields()[0].first, "0.6");
  EXPECT_EQ(*ranks.find("0.6")->get<std::int64_t>(), 1);
  EXPECT_EQ(*ranks.find("0.99")->get<std::int64_t>(), 3);
  const Record& nulls = *row.find("random_energy_rank")->get<Record>();
  ASSERT_EQ(nulls.fields().size(), 4);
  EXPECT_EQ(*nulls.find("0.99")->get<std::int64_t>(), 4);
  const Record& energies = *row.find("energy_at_rank")->get<Record>();
  ASSERT_EQ(energies.fields().size(), 3);
  EXPECT_DOUBLE_EQ(*energies.find("2")->get<double>(), 20.0 / 21.0);
  EXPECT_DOUBLE_EQ(*energies.find("0.5D")->get<double>(), 16.0 / 21.0);
  EXPECT_EQ(*energies.find("9")->get<double>(), 1);
  const Record& random_energies = *row.find("random_energy_at_rank")->get<Record>();
  ASSERT_EQ(random_energies.fields().size(), 3);
  EXPECT_EQ(*random_energies.find("9")->get<double>(), 1);
  EXPECT_EQ(expect_vector<std::int64_t>(row, "shape"), (std::vector<std::int64_t>{6, 4}));
  EXPECT_TRUE(row.find("condition_number")->is_null());
  EXPECT_EQ(expect_vector<double>(row, "singular_values"), values);
}

TEST(SpectrumFields, OmitUnrequestedFields) {
  Record row;
  add_spectrum_fields(row, {{2, 1}}, {2, 2}, {.thresholds = {0.9}});
  EXPECT_EQ(row.find("singular_values"), nullptr);
  EXPECT_EQ(row.find("cumulative_energy"), nullptr);
  EXPECT_EQ(row.find("energy_at_rank"), nullptr);
  EXPECT_EQ(row.find("random_energy_at_rank"), nullptr);
  EXPECT_EQ(*row.find("condition_number")->get<double>(), 2);
}

TEST(SpectrumFields, AreFiniteForAZeroMatrix) {
  Record row;
  add_spectrum_fields(row, {{0, 0}}, {2, 5},
                      {.thresholds = {0.6, 0.9}, .ranks = {{"1", 1}}, .with_values = true});
  EXPECT_EQ(*row.find("random_energy_rank")->get<Record>()->find("0.9")->get<std::int64_t>(), 2);
  EXPECT_TRUE(row.find("energy_at_rank")->get<Record>()->find("1")->is_null());
  EXPECT_NE(row.find("random_energy_at_rank")->get<Record>()->find("1")->get<double>(), nullptr);
  EXPECT_EQ(*row.find("energy_rank")->get<Record>()->find("0.9")->get<std::int64_t>(), 0);
  for (const char* name : {"stable_rank", "effective_rank", "participation_ratio", "spectral_norm",
                           "frobenius_norm", "nuclear_norm"}) {
    ASSERT_NE(row.find(name)->get<double>(), nullptr) << name;
    EXPECT_EQ(*row.find(name)->get<double>(), 0) << name;
  }
  EXPECT_TRUE(row.find("condition_number")->is_null());
  EXPECT_EQ(expect_vector<double>(row, "singular_values").size(), 2);
  EXPECT_TRUE(expect_vector<double>(row, "cumulative_energy").empty());
}

}  // namespace
}  // namespace attnscope
