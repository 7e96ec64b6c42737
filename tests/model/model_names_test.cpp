#include "attnscope/model/model_names.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace attnscope {
namespace {

namespace fs = std::filesystem;

TEST(DistinctNames, AreAsShortAsPossible) {
  const struct {
    std::vector<fs::path> paths;
    std::vector<std::string> names;
  } cases[] = {
      {{}, {}},
      {{"/models/bert"}, {"bert"}},
      {{"/models/bert/"}, {"bert"}},
      {{"/models/x/../bert/."}, {"bert"}},
      {{"/models/bert/model.safetensors"}, {"model.safetensors"}},
      {{"/"}, {"/"}},
      {{"/a/bert", "/a/gpt2"}, {"bert", "gpt2"}},
      {{"/a/bert", "/b/bert", "/b/gpt2"}, {"a/bert", "b/bert", "gpt2"}},
      {{"/a/x/m", "/b/x/m", "/b/y/m"}, {"a/x/m", "b/x/m", "y/m"}},
      {{"/x/m", "/y/x/m"}, {"/x/m", "y/x/m"}},
      {{"/a/m", "/a/m"}, {"/a/m", "/a/m"}},  // one model twice
      {{"/a/new\nline"}, {"new\\x0aline"}},
  };
  for (const auto& [paths, names] : cases) EXPECT_EQ(distinct_names(paths), names);

  const fs::path here = fs::current_path();
  EXPECT_EQ(distinct_names({"."}), std::vector<std::string>{here.filename().string()});
  EXPECT_NO_THROW(distinct_names({""}));
}

}  // namespace
}  // namespace attnscope
