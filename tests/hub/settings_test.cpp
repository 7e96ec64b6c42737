#include "attnscope/hub/settings.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

using Variables = std::map<std::string, std::string>;

HubSettings settings_of(Variables variables) {
  variables.emplace("HOME", "/home/me");
  return hub_settings([variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

// Expected values: results of huggingface_hub 2.4 for the same variables.
TEST(HubSettings, FindTheCache) {
  const struct {
    Variables variables;
    std::string cache;
  } cases[] = {
      {{}, "/home/me/.cache/huggingface/hub"},
      {{{"XDG_CACHE_HOME", "/x"}}, "/x/huggingface/hub"},
      {{{"XDG_CACHE_HOME", "/x"}, {"HF_HOME", "~/h"}}, "/home/me/h/hub"},
      {{{"HF_HOME", ""}}, "hub"},
      {{{"HF_HOME", "/h"}, {"HUGGINGFACE_HUB_CACHE", "/old"}}, "/old"},
      {{{"HUGGINGFACE_HUB_CACHE", "/old"},
        {"HF_HUB_CACHE", "$DISK/${KIND}s"},
        {"DISK", "/d"},
        {"KIND", "model"}},
       "/d/models"},
      {{{"HF_HUB_CACHE", "/a/$ABSENT/${ABSENT}/$"}}, "/a/$ABSENT/${ABSENT}/$"},
  };
  for (const auto& [variables, cache] : cases) {
    EXPECT_EQ(settings_of(variables).cache.string(), cache);
  }
}

TEST(HubSettings, FindEndpointAndMode) {
  EXPECT_EQ(settings_of({}).endpoint, "https://huggingface.co");
  EXPECT_EQ(settings_of({{"HF_ENDPOINT", "http://mirror:8080//"}}).endpoint, "http://mirror:8080");
  EXPECT_FALSE(settings_of({}).offline);
  EXPECT_TRUE(settings_of({{"HF_HUB_OFFLINE", "yes"}}).offline);
  EXPECT_TRUE(settings_of({{"HF_HUB_OFFLINE", ""}, {"TRANSFORMERS_OFFLINE", "1"}}).offline);
  EXPECT_FALSE(settings_of({{"HF_HUB_OFFLINE", "0"}, {"TRANSFORMERS_OFFLINE", "1"}}).offline);
  EXPECT_TRUE(settings_of({}).links);
  EXPECT_FALSE(settings_of({{"HF_HUB_DISABLE_SYMLINKS", "1"}}).links);
}

TEST(HubSettings, FindTheToken) {
  test::TempFolder folder;
  folder.write("token", " hf_file \n");
  const std::string home = folder.path().string();
  EXPECT_EQ(settings_of({{"HF_HOME", "/absent"}}).token, "");
  EXPECT_EQ(settings_of({{"HF_HOME", home}}).token, "hf_file");
  EXPECT_EQ(settings_of({{"HF_HOME", home}}).token_source, home + "/token");
  EXPECT_EQ(settings_of({{"HF_TOKEN_PATH", home + "/token"}}).token, "hf_file");
  const Variables both = {{"HF_HOME", home}, {"HUGGING_FACE_HUB_TOKEN", "hf_old"}};
  EXPECT_EQ(settings_of(both).token, "hf_old");
  Variables all = both;
  all["HF_TOKEN"] = "hf_new\n";
  EXPECT_EQ(settings_of(all).token, "hf_new");
  EXPECT_EQ(settings_of(all).token_source, "HF_TOKEN");
  all["HF_HUB_DISABLE_IMPLICIT_TOKEN"] = "1";
  EXPECT_EQ(settings_of(all).token, "");
  EXPECT_EQ(settings_of({{"HF_HOME", "/absent"},
                         {"HF_TOKEN",
                          "a\x01"
                          "b"}})
                .token,
            "");
}

}  // namespace
}  // namespace attnscope
