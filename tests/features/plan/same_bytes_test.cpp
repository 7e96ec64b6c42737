// Plans and compressed models have the same bytes for any number of threads and any memory limit,
// for every method.
#include <ostream>

#include "tests/features/attention/attention_model.h"
#include "tests/features/plan/plan_case.h"

namespace attnscope::test {
namespace {

struct FormToPlan {
  std::string name;
  Words target;
};

void PrintTo(const FormToPlan& form, std::ostream* out) { *out << form.name; }

const Words kOneThread = {"--threads", "1"};
/// So little memory that it fits the moments of one layer and no weight copies.
const Words kThreeThreads = {"--threads", "3", "--memory", "3M"};

class PlanOfBytes : public PlanCase {
 protected:
  void make(const std::string& folder, const Words& more) const {
    output_of(shrink(kPlanExample, "plan.json", folder) + more);
  }

  void expect_same_folders(const std::string& one, const std::string& other) const {
    const Words names = files_in(path(one));
    EXPECT_EQ(names, files_in(path(other)));
    for (const std::string& name : names) {
      EXPECT_TRUE(read_file(path(one) + "/" + name) == read_file(path(other) + "/" + name))
          << name << " of " << one << " and " << other;
    }
  }
};

class PlanSameBytes : public PlanOfBytes, public ::testing::WithParamInterface<FormToPlan> {};

TEST_P(PlanSameBytes, HoldsForAnyThreadsAndMemory) {
  const Words target = GetParam().target;
  output_of(plan(kPlanExample, target + kOneThread + Words{"-o", path("plan.json")}));
  output_of(plan(kPlanExample, target + kThreeThreads + Words{"-o", path("other.json")}));
  EXPECT_EQ(read_file(path("plan.json")), read_file(path("other.json")));

  make("one", kOneThread);
  make("three", kThreeThreads);
  EXPECT_GE(files_in(path("one")).size(), 4u);
  expect_same_folders("one", "three");
}

INSTANTIATE_TEST_SUITE_P(
    Forms, PlanSameBytes,
    ::testing::Values(FormToPlan{"depth", {"--method", "depth", "--keep", "0.9"}},
                      FormToPlan{"mlp", {"--method", "mlp", "--keep", "0.9"}},
                      FormToPlan{"hidden_size", {"--method", "hidden-size", "--keep", "0.8"}},
                      FormToPlan{"head_width", {"--method", "head-dim", "--kv-bytes", "0.5"}},
                      FormToPlan{"kv_heads", {"--method", "kv-heads", "--kv-bytes", "0.5"}},
                      FormToPlan{"heads", {"--method", "heads", "--keep", "0.95"}},
                      FormToPlan{"mla", {"--method", "mla", "--kv-bytes", "0.5"}},
                      FormToPlan{"low_rank", {"--method", "low-rank", "--keep", "0.7"}},
                      FormToPlan{"combination", {"--method", "mlp,kv-heads", "--keep", "0.97"}}),
    [](const auto& form) { return form.param.name; });

TEST_F(PlanOfBytes, HoldsForShards) {
  output_of(plan(kPlanExample, {"--set", "hidden-size=144", "-o", path("plan.json")}));
  const Words shards = {"--shard-size", "700K"};
  make("one", shards + kOneThread);
  make("three", shards + kThreeThreads);
  EXPECT_TRUE(std::filesystem::exists(path("one") + "/model.safetensors.index.json"));
  EXPECT_FALSE(std::filesystem::exists(path("one") + "/model.safetensors"));
  expect_same_folders("one", "three");
  // The same model as in one file.
  make("whole", kOneThread);
  const auto tensors = [&](const std::string& folder) {
    return report_of({"info", path(folder)})["rows"];
  };
  const json sharded = tensors("one"), whole = tensors("whole");
  ASSERT_EQ(sharded.size(), whole.size());
  for (std::size_t at = 0; at < whole.size(); ++at) {
    EXPECT_EQ(sharded[at]["name"], whole[at]["name"]);
    EXPECT_EQ(sharded[at]["shape"], whole[at]["shape"]);
  }
  const auto said = [&](const std::string& folder) {
    json rows = report_of({"predict", path(folder), "--text", "ROMEO: what light"})["rows"];
    for (json& row : rows) row.erase("model");
    return rows;
  };
  EXPECT_EQ(said("one"), said("whole"));
}

/// Tiny models, for which every method is fast. Reports contain nothing about the machine.
TEST(MethodComparisonSameBytes, HoldsForAnyThreadsAndMemory) {
  const TempFolder folder;
  const std::string tokens =
      folder.write("tokens.bin", shard_bytes(random_tokens(500, 48))).string();
  for (const char* name : {"llama", "qwen2", "gpt2", "gemma2", "deepseek_v3", "mixtral"}) {
    const Words words = {"plan",
                         tiny_model(name),
                         "--calibration-token-file",
                         tokens,
                         "--length",
                         "16",
                         "--probe-tokens",
                         "64",
                         "--quiet",
                         "--eval-sequences",
                         "2"};
    const std::string comparison = output_of(words + Words{"--format", "json", "--threads", "1"});
    EXPECT_GT(json::parse(comparison)["rows"].size(), 4u) << name;
    EXPECT_EQ(output_of(words + Words{"--format", "json", "--threads", "3", "--memory", "1M"}),
              comparison)
        << name;
  }
}

}  // namespace
}  // namespace attnscope::test
