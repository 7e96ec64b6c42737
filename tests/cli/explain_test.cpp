// `explain`: the meanings of fields, and the JSON Schema of reports.
#include "tests/support/program.h"

namespace attnscope::test {
namespace {

TEST(CliExplain, SaysWhatAFieldMeansAndWhereItStands) {
  EXPECT_EQ(
      output_of({"explain", "random_energy_at_rank"}),
      "random_energy_at_rank: map of numbers by rank; share of the energy; only with --rank\n"
      "  expected share of the energy at the given rank for a Gaussian matrix of the same shape\n"
      "  in: rows of spectrum, rows of spectrum --tensor\n"
      "  see: docs/metrics.md#random-baseline-of-a-spectrum\n");
  EXPECT_EQ(output_of({"explain", "scope"}),
            "scope: text\n"
            "  pairs of rows that are compared: within one head, across two heads, or all\n"
            "  one of: within_head, across_head, all\n"
            "  in: rows of similarity\n"
            "  see: docs/metrics.md#cosine-similarity-of-weight-vectors\n");
}

TEST(CliExplain, ShowsAllMeaningsOfAField) {
  const std::string text = output_of({"explain", "layer"});
  for (const char* place : {"rows of info\n", "parameters of matrix\n", "skipped of every report\n",
                            "rows of circuits --composition\n"}) {
    EXPECT_TRUE(contains(text, place)) << place << text;
  }
  EXPECT_TRUE(contains(output_of({"explain", "latent"}),
                       "in: mla_cache in models of spectrum --mla,"
                       " mla_cache_at_share in models of "));
}

TEST(CliExplain, NamesConditionsThatAreNotOptions) {
  const std::string text = output_of({"explain", "tokens_hash"});
  EXPECT_TRUE(contains(text, "tokens_hash: text; only with a text\n")) << text;
  EXPECT_TRUE(contains(text, "parameters of experts with a text")) << text;
  EXPECT_FALSE(contains(text, "--tokens-hash")) << text;
  EXPECT_TRUE(contains(output_of({"explain", "label_id"}), "predict with an image or audio"));
}

TEST(CliExplain, ListsAllFieldsWithoutAName) {
  const std::string text = output_of({"explain"});
  for (const char* line : {"rows of weights\n", "\n  histogram.edges  ", "models of every report\n",
                           "\n  kv_cache_bytes_per_token  "}) {
    EXPECT_TRUE(contains(text, line)) << line;
  }
}

TEST(CliExplain, HasAMachineReadableFormat) {
  const json all = json::parse(output_of({"explain", "--format", "json"}));
  EXPECT_GT(all["fields"].size(), 200u);
  const json one = json::parse(output_of({"explain", "quantiles", "--format", "json"}));
  ASSERT_EQ(one["fields"].size(), 1u);
  const json& field = one["fields"][0];
  EXPECT_EQ(field["kind"], "weights");
  EXPECT_EQ(field["part"], "rows");
  EXPECT_EQ(field["type"], "number");
  EXPECT_EQ(field["form"], "by_fraction");
  EXPECT_EQ(field["with"], nullptr);
}

TEST(CliExplain, RejectsUnknownNames) {
  expect_refusal({"explain", "energy_rnk"}, 2, {"energy_rnk", "did you mean 'energy_rank'?"});
  expect_refusal({"explain", "mean", "--format", "csv"}, 2, {"--format", "formats: table, json"});
  expect_refusal({"explain", "xyzzy plugh"}, 2, {"xyzzy plugh"});
  expect_refusal({"explain", "mean", "--schema"}, 2, {"--schema"});
}

TEST(CliExplain, TheCommittedSchemaIsUpToDate) {
  EXPECT_EQ(output_of({"explain", "--schema"}),
            read_file(source_path("docs/schema/attnscope-2.schema.json")));
}

}  // namespace
}  // namespace attnscope::test
