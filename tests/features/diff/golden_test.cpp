// `diff` of two tiny models, compared with float64 NumPy (tools/golden_diff.py): the size and rank
// of each matrix's and head's change, and its overlap with the base.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "tests/support/program.h"

namespace attnscope::test {
namespace {

const std::string kDiffBase = data_path("diff/base"), kDiffTuned = data_path("diff/tuned");

json changes_of(const Words& more, const std::string& base = kDiffBase,
                const std::string& tuned = kDiffTuned) {
  return report_of(Words{"diff", base, tuned, "--energy", "0.6,0.9,0.99", "--quiet"} + more);
}

/// Sums of at most 384 squares in another order than NumPy's: a relative error of 384 · 2^-53 =
/// 4e-14.
void expect_sum(const json& got, const json& wanted) {
  ASSERT_EQ(got.is_null(), wanted.is_null());
  if (wanted.is_null()) return;
  EXPECT_NEAR(got.get<double>(), wanted.get<double>(), 1e-12 * std::abs(wanted.get<double>()));
}

/// The script ensures that the squared singular values at the edge of a subspace differ by at least
/// 1%, so the vectors have an error of some hundred times 2^-53. The angle θ is computed from its
/// cosine, so an error δ changes it by δ / sin θ, and by √(2 δ) near 0.
void expect_spaces(const json& got, const json& wanted) {
  ASSERT_EQ(got.is_null(), wanted.is_null());
  if (wanted.is_null()) return;
  constexpr double kCosine = 1e-12, kDegrees = 180 / std::numbers::pi;
  EXPECT_NEAR(got["overlap"].get<double>(), wanted["overlap"].get<double>(), kCosine);
  expect_sum(got["random_overlap"], wanted["random_overlap"]);
  const double angle = wanted["angle"].get<double>(), sine = std::sin(angle / kDegrees);
  const double error = std::min(kCosine / std::max(sine, kCosine), std::sqrt(2 * kCosine));
  EXPECT_NEAR(got["angle"].get<double>(), angle, kDegrees * error);
}

void expect_change(const json& got, const json& wanted) {
  for (const char* norm : {"relative_change", "change_norm", "weight_norm"}) {
    SCOPED_TRACE(norm);
    expect_sum(got[norm], wanted[norm]);
  }
  for (const char* exact :
       {"shape", "energy_rank", "random_energy_rank", "weight_energy_rank", "max_possible_rank"}) {
    EXPECT_EQ(got[exact], wanted[exact]) << exact;
  }
  for (const char* space : {"output_space", "input_space"}) {
    SCOPED_TRACE(space);
    expect_spaces(got[space], wanted[space]);
  }
}

TEST(DiffGolden, MatricesAndHeadsEqualNumPy) {
  const json rows = changes_of({"--per-head"})["rows"];
  const json expected = json::parse(read_file(data_path("diff/expected.json")));
  ASSERT_EQ(rows.size(), expected.size());
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const json& wanted = expected[at];
    SCOPED_TRACE(json({wanted["layer"], wanted["matrix"], wanted["head"]}).dump());
    for (const char* id : {"layer", "matrix", "head"}) EXPECT_EQ(rows[at][id], wanted[id]) << id;
    EXPECT_EQ(rows[at]["model"], "tuned");
    expect_change(rows[at], wanted);
  }
}

TEST(DiffGolden, WithoutHeadsTheRowsOfMatricesAreTheSame) {
  json rows = changes_of({"--per-head"})["rows"];
  rows.erase(std::remove_if(rows.begin(), rows.end(),
                            [](const json& row) { return !row["head"].is_null(); }),
             rows.end());
  EXPECT_EQ(changes_of({})["rows"], rows);
}

TEST(DiffGolden, NotesWhatIsNotCompared) {
  const RunResult run = run_attnscope({"diff", kDiffBase, kDiffTuned, "--format", "json"});
  const json report = json::parse(run.out);
  ASSERT_EQ(report["skipped"].size(), 1u);
  EXPECT_EQ(report["skipped"][0]["layer"], 1);
  EXPECT_EQ(report["skipped"][0]["matrix"], "o");
  EXPECT_TRUE(contains(report["skipped"][0]["reason"].get<std::string>(), "row 0, column 0"));
  EXPECT_TRUE(
      contains(run.err, "tuned changed 1 tensor other than matrices: model.embed_tokens.weight"))
      << run.err;
}

/// The change norm is symmetric in the two models. Only the relative change depends on which one is
/// the base.
TEST(DiffGolden, ChangeNormIsSymmetric) {
  const json there = changes_of({})["rows"];
  const json back = changes_of({}, kDiffTuned, kDiffBase)["rows"];
  ASSERT_EQ(there.size(), back.size());
  for (std::size_t at = 0; at < there.size(); ++at) {
    expect_sum(back[at]["change_norm"], there[at]["change_norm"]);
    EXPECT_EQ(back[at]["energy_rank"], there[at]["energy_rank"]);
  }
}

}  // namespace
}  // namespace attnscope::test
