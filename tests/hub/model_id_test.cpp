#include "attnscope/hub/model_id.h"

#include <gtest/gtest.h>

namespace attnscope {
namespace {

TEST(HubModelId, ParsesNames) {
  const struct {
    std::string text, repo, part, revision;
  } cases[] = {
      {"gpt2", "gpt2", "", "main"},
      {"EleutherAI/pythia-14m", "EleutherAI/pythia-14m", "", "main"},
      {"EleutherAI/pythia-14m@step1000", "EleutherAI/pythia-14m", "", "step1000"},
      {"org/name@refs/pr/1", "org/name", "", "refs/pr/1"},
      {"org/name@step*", "org/name", "", "step*"},
      {"org/name/file.gguf", "org/name", "file.gguf", "main"},
      {"org/name/sub/folder/@v1.0", "org/name", "sub/folder", "v1.0"},
      {"0x/a_b.c-d", "0x/a_b.c-d", "", "main"},
  };
  for (const auto& [text, repo, part, revision] : cases) {
    SCOPED_TRACE(text);
    const auto id = parse_hub_model(text);
    ASSERT_TRUE(id.has_value());
    EXPECT_EQ(id->repo, repo);
    EXPECT_EQ(id->part, part);
    EXPECT_EQ(id->revision, revision);
  }
  EXPECT_EQ(parse_hub_model("org/name/f.gguf@v1")->text(), "org/name/f.gguf@v1");
  EXPECT_EQ(parse_hub_model("gpt2")->text(), "gpt2");
}

TEST(HubModelId, DoesNotMatchPaths) {
  for (const std::string text : {"",
                                 "/",
                                 "/abs/path",
                                 "./here",
                                 "../there",
                                 "~/model",
                                 ".",
                                 "..",
                                 "a//b",
                                 "org/",
                                 "model.safetensors",
                                 "folder/model.safetensors",
                                 "folder/config.json",
                                 "org/na me",
                                 "org/na--me",
                                 "org/na..me",
                                 "org/name.git",
                                 "org/-name",
                                 "-org/name",
                                 "org/name.",
                                 "org/n\xc3\xa4me",
                                 "org/name@",
                                 "org/name@../x",
                                 "org/name@/x",
                                 "org/name@a\nb",
                                 "org/name/../x",
                                 "org/name/a//b"}) {
    EXPECT_FALSE(parse_hub_model(text).has_value()) << text;
  }
  EXPECT_FALSE(parse_hub_model(std::string(97, 'a')).has_value());
  EXPECT_TRUE(parse_hub_model(std::string(96, 'a')).has_value());
}

TEST(HubModelId, SortsRevisionsNumerically) {
  const std::vector<std::string> names = {"main",   "step10", "step2", "step1000",
                                          "step2b", "v1",     "step0", "step10"};
  EXPECT_EQ(matching_revisions("step*", names),
            (std::vector<std::string>{"step0", "step2", "step2b", "step10", "step1000"}));
  EXPECT_EQ(matching_revisions("step?", names), (std::vector<std::string>{"step0", "step2"}));
  EXPECT_TRUE(matching_revisions("epoch*", names).empty());
}

}  // namespace
}  // namespace attnscope
