// Folders of sentence-transformers: the model is in the folder of a module.
#include "attnscope/checkpoint/sentence_transformers.h"

#include <gtest/gtest.h>

#include "attnscope/base/error.h"
#include "attnscope/checkpoint/checkpoint.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOldModules =
    R"([{"idx": 0, "name": "0", "path": "0_Transformer", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}])";

TEST(SentenceTransformers, TheTransformerHasItsOwnFolder) {
  const TempFolder folder;
  folder.write("modules.json", kOldModules);
  EXPECT_EQ(transformer_folder(folder.path()), folder.path() / "0_Transformer");
  const fs::path from = fs::path(ATTNSCOPE_SOURCE_DIR) / "tests/data/classifiers/bert";
  fs::create_directories(folder.path() / "0_Transformer");
  for (const char* file : {"config.json", "model.safetensors", "vocab.txt"}) {
    fs::copy_file(from / file, folder.path() / "0_Transformer" / file);
  }
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  EXPECT_TRUE(checkpoint.folder().has("vocab.txt"));
}

TEST(SentenceTransformers, OrIsInTheFolderItself) {
  const TempFolder folder;
  EXPECT_EQ(transformer_folder(folder.path()), folder.path());
  folder.write("modules.json",
               R"([{"path": "", "type": "sentence_transformers.models.Transformer"}])");
  EXPECT_EQ(transformer_folder(folder.path()), folder.path());
  folder.write("modules.json", kOldModules);
  folder.write("config.json", "{}");
  EXPECT_EQ(transformer_folder(folder.path()), folder.path());
}

/// Modules in the root, as in models on the hub.
std::string root_modules(const std::string& more) {
  return R"([{"path": "", "type": "sentence_transformers.models.Transformer"},
             {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"})" +
         more + "]";
}

TEST(SentenceTransformers, ReadsPoolings) {
  using enum SentencePooling;
  const struct {
    const char* config;
    std::vector<SentencePooling> poolings;
  } cases[] = {
      {R"({"word_embedding_dimension": 8, "pooling_mode_cls_token": false,
           "pooling_mode_mean_tokens": true})",
       {mean}},
      {R"({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true})", {first, mean}},
      {R"({"pooling_mode": "lasttoken"})", {last}},
      {R"({"pooling_mode": ["mean_sqrt_len_tokens", "max"]})", {max, scaled_sum}}};
  for (const auto& [config, poolings] : cases) {
    SCOPED_TRACE(config);
    const TempFolder folder;
    std::filesystem::create_directories(folder.path() / "1_Pooling");
    folder.write("1_Pooling/config.json", config);
    folder.write("modules.json", root_modules(""));
    const auto modules = sentence_modules(CheckpointFolder(folder.path()));
    ASSERT_TRUE(modules);
    EXPECT_EQ(modules->poolings, poolings);
    EXPECT_FALSE(modules->normalizes);
    folder.write("modules.json", root_modules(R"(,{"path": "2", "type": "a.Normalize"})"));
    EXPECT_TRUE(sentence_modules(CheckpointFolder(folder.path()))->normalizes);
    folder.write("modules.json", root_modules(R"(,{"path": "2", "type": "a.Dense"})"));
    EXPECT_FALSE(sentence_modules(CheckpointFolder(folder.path())));
  }
}

TEST(SentenceTransformers, RefusesUnknownPoolings) {
  const TempFolder folder;
  EXPECT_FALSE(sentence_modules(CheckpointFolder(folder.path())));
  folder.write("modules.json", root_modules(""));
  EXPECT_FALSE(sentence_modules(CheckpointFolder(folder.path())));  // without its config
  std::filesystem::create_directories(folder.path() / "1_Pooling");
  for (const char* config :
       {"[]", "{}", R"({"pooling_mode": "other"})", R"({"pooling_mode": 1})"}) {
    SCOPED_TRACE(config);
    folder.write("1_Pooling/config.json", config);
    EXPECT_THROW(sentence_modules(CheckpointFolder(folder.path())), Error);
  }
}

TEST(SentenceTransformers, MalformedModulesAreRefused) {
  for (const char* modules : {"{}", "[]", "[1]", R"([{"type": "a.Transformer"}])",
                              R"([{"path": "0", "type": "a.Pooling"}])",
                              R"([{"path": "../other", "type": "a.Transformer"}])",
                              R"([{"path": "..", "type": "a.Transformer"}])",
                              R"([{"path": "/etc", "type": "a.Transformer"}])"}) {
    SCOPED_TRACE(modules);
    const TempFolder folder;
    folder.write("modules.json", modules);
    EXPECT_THROW(transformer_folder(folder.path()), Error);
  }
}

}  // namespace
}  // namespace attnscope::test
