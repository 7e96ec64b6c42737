#include "attnscope/checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/expect_error.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using test::counting_tensor;
using test::safetensors_bytes;
using test::TempFolder;

const std::string kIndexName = "model.safetensors.index.json";

std::string index_text(const std::map<std::string, std::string>& shard_of) {
  return nlohmann::json{{"weight_map", shard_of}}.dump();
}

std::vector<std::string> tensor_names(const Checkpoint& checkpoint) {
  std::vector<std::string> names;
  for (const CheckpointTensor& tensor : checkpoint.tensors()) names.push_back(tensor.name);
  return names;
}

/// Name of the file that opening the folder selects.
std::string found_in(const fs::path& folder) {
  return Checkpoint::open(folder).main_file().filename().string();
}

TEST(Checkpoint, SelectsTheFileThatOpensAmongSeveralFormats) {
  const TempFolder folder;
  const fs::path torch = fs::path(ATTNSCOPE_SOURCE_DIR) / "tests/data/pytorch/zip.pt";
  const auto make = [&](const std::string& name, bool with_config) {
    folder.write(name + "/tokens.bin", std::string(2048, '\7'));  // same file extension as weights
    if (with_config) folder.write(name + "/config.json", "{}");
    return folder.path() / name;
  };
  const std::string tensors = safetensors_bytes({counting_tensor("a", {2, 2})});
  const fs::path alone = make("alone", false);
  fs::copy(torch, alone / "checkpoint.pt");
  EXPECT_EQ(found_in(alone), "checkpoint.pt");
  // Without a config.json, tensors that are stored next to it cannot be the model.
  folder.write("alone/expected.safetensors", tensors);
  EXPECT_EQ(found_in(alone), "checkpoint.pt");
  folder.write("alone/config.json", "{}");
  EXPECT_EQ(found_in(alone), "expected.safetensors");
  for (const bool with_config : {false, true}) {
    const std::string name = with_config ? "described" : "bare";
    const fs::path place = make(name, with_config);
    folder.write(name + "/weights.safetensors", tensors);
    EXPECT_EQ(found_in(place), "weights.safetensors");
  }
  const fs::path two = make("two", false);
  for (const char* name : {"one.pt", "other.pth"}) fs::copy(torch, two / name);
  EXPECT_ERROR_SAYING(ErrorKind::usage, Checkpoint::open(two), "several", "pass one of them");
}

TEST(Checkpoint, OpensAFolderOrAFile) {
  const TempFolder folder;
  const std::string content = safetensors_bytes({counting_tensor("a", {2, 2})});
  const fs::path file = folder.write("model.safetensors", content);
  for (const fs::path& path : {folder.path(), file}) {
    const Checkpoint checkpoint = Checkpoint::open(path);
    EXPECT_EQ(checkpoint.folder().path(), folder.path());
    EXPECT_EQ(checkpoint.main_file(), file);
    EXPECT_EQ(checkpoint.file_bytes(), content.size());
    ASSERT_NE(checkpoint.find("a"), nullptr);
    EXPECT_EQ(checkpoint.find("a")->view.shape, (Shape{2, 2}));
    EXPECT_EQ(checkpoint.find("b"), nullptr);
    EXPECT_EQ(checkpoint.place_of(*checkpoint.find("a")), file.string() + ": tensor 'a'");
    EXPECT_TRUE(checkpoint.warnings().empty());
  }
}

TEST(Checkpoint, PrefersStandardFileNames) {
  const TempFolder folder;
  folder.write("adapter.safetensors", safetensors_bytes({counting_tensor("adapter", {1})}));
  EXPECT_EQ(tensor_names(Checkpoint::open(folder.path())), std::vector<std::string>{"adapter"});

  folder.write("other.safetensors", safetensors_bytes({}));
  EXPECT_ERROR_SAYING(ErrorKind::usage, Checkpoint::open(folder.path()), folder.path().string(),
                      "several .safetensors files");

  folder.write("shard.safetensors", safetensors_bytes({counting_tensor("sharded", {1})}));
  folder.write(kIndexName, index_text({{"sharded", "shard.safetensors"}}));
  EXPECT_EQ(tensor_names(Checkpoint::open(folder.path())), std::vector<std::string>{"sharded"});

  folder.write("model.safetensors", safetensors_bytes({counting_tensor("single", {1})}));
  EXPECT_EQ(tensor_names(Checkpoint::open(folder.path())), std::vector<std::string>{"single"});
}

std::vector<std::string> warning_texts(const Checkpoint& checkpoint) {
  std::vector<std::string> texts;
  for (const ErrorParts& warning : checkpoint.warnings()) {
    texts.push_back(error_text(warning, [](std::string_view name) { return std::string(name); }));
  }
  return texts;
}

TEST(Checkpoint, ReadsAllShards) {
  const TempFolder folder;
  const std::string first =
      safetensors_bytes({counting_tensor("z", {3}), counting_tensor("b", {1})});
  const std::string second = safetensors_bytes({counting_tensor("a", {2})});
  folder.write("1.safetensors", first);
  folder.write("2.safetensors", second);
  folder.write(
      kIndexName,
      index_text({{"a", "2.safetensors"}, {"b", "1.safetensors"}, {"z", "1.safetensors"}}));
  for (const fs::path& path : {folder.path(), folder.path() / kIndexName}) {
    const Checkpoint checkpoint = Checkpoint::open(path);
    EXPECT_EQ(tensor_names(checkpoint), (std::vector<std::string>{"z", "b", "a"}));
    EXPECT_TRUE(checkpoint.warnings().empty());
    EXPECT_EQ(checkpoint.file_bytes(), first.size() + second.size());
    EXPECT_EQ(checkpoint.folder().path(), folder.path());
    EXPECT_EQ(checkpoint.main_file(), folder.path() / kIndexName);
    EXPECT_EQ(checkpoint.place_of(*checkpoint.find("a")),
              (folder.path() / "2.safetensors").string() + ": tensor 'a'");
    EXPECT_EQ(checkpoint.missing_note("a"), "");
  }
}

TEST(Checkpoint, TakesTheUnionIfIndexAndShardsDisagree) {
  const TempFolder folder;
  folder.write("1.safetensors",
               safetensors_bytes({counting_tensor("a", {1}), counting_tensor("unlisted", {1})}));
  folder.write("2.safetensors", safetensors_bytes({counting_tensor("moved", {1})}));
  folder.write(kIndexName, index_text({{"a", "1.safetensors"},
                                       {"absent", "2.safetensors"},
                                       {"moved", "1.safetensors"},
                                       {"also\nabsent", "2.safetensors"}}));
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  EXPECT_EQ(tensor_names(checkpoint), (std::vector<std::string>{"a", "unlisted", "moved"}));

  const std::string first = (folder.path() / "1.safetensors").string();
  const std::string second = (folder.path() / "2.safetensors").string();
  const std::string index = (folder.path() / kIndexName).string();
  EXPECT_EQ(
      warning_texts(checkpoint),
      (std::vector<std::string>{
          first + ": tensor 'unlisted' is not listed in the index",
          second + ": tensor 'moved' is assigned to 1.safetensors in the index",
          index + ": tensor 'absent' is assigned to 2.safetensors by the index, but is not in it",
          index + ": tensor 'also\\x0aabsent' is assigned to 2.safetensors by the index, but is "
                  "not in it",
      }));
  EXPECT_EQ(checkpoint.missing_note("absent"),
            ": the index assigns it to 2.safetensors, which does not contain it");
  EXPECT_EQ(checkpoint.missing_note("moved"), "");
  EXPECT_EQ(checkpoint.missing_note("never heard of"), "");
}

TEST(Checkpoint, OpensWithSomeShardsMissing) {
  const TempFolder folder;
  folder.write("2.safetensors", safetensors_bytes({counting_tensor("here", {1})}));
  folder.write(kIndexName, index_text({{"a", "1.safetensors"},
                                       {"b", "1.safetensors"},
                                       {"c", "3.safetensors"},
                                       {"here", "2.safetensors"},
                                       {"gone", "2.safetensors"}}));
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  EXPECT_EQ(tensor_names(checkpoint), std::vector<std::string>{"here"});
  const std::string place = folder.path().string() + "/";
  EXPECT_EQ(warning_texts(checkpoint),
            (std::vector<std::string>{
                place + "1.safetensors: this shard is listed in " + kIndexName +
                    " but is missing, which affects 2 tensors (download it)",
                place + "3.safetensors: this shard is listed in " + kIndexName +
                    " but is missing, which affects 1 tensor (download it)",
                place + kIndexName +
                    ": tensor 'gone' is assigned to 2.safetensors by the index, but is not in it",
            }));
  EXPECT_EQ(checkpoint.missing_note("a"),
            ": the index assigns it to 1.safetensors, which is missing");
  EXPECT_EQ(checkpoint.missing_note("gone"),
            ": the index assigns it to 2.safetensors, which does not contain it");
}

TEST(Checkpoint, UsesTheIndexForDuplicateTensorNames) {
  const TempFolder folder;
  folder.write("1.safetensors",
               safetensors_bytes({counting_tensor("a", {1}), counting_tensor("b", {1})}));
  folder.write("2.safetensors",
               safetensors_bytes({counting_tensor("a", {2}), counting_tensor("b", {2})}));
  folder.write(kIndexName, index_text({{"a", "2.safetensors"}, {"b", "1.safetensors"}}));
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  ASSERT_EQ(checkpoint.tensors().size(), 2u);
  EXPECT_EQ(checkpoint.find("a")->view.shape, Shape{2});
  EXPECT_EQ(checkpoint.find("b")->view.shape, Shape{1});
  ASSERT_EQ(checkpoint.warnings().size(), 2u);
  EXPECT_EQ(checkpoint.warnings()[0].tensor, "a");
  EXPECT_EQ(checkpoint.warnings()[0].problem,
            "tensor 'a' is also in an earlier shard; the one in 2.safetensors is used");
}

TEST(Checkpoint, FindsTensorsByAlias) {
  const TempFolder folder;
  folder.write("model.safetensors",
               safetensors_bytes({counting_tensor("embed", {2}), counting_tensor("own", {1})},
                                 {{"format", "pt"},
                                  {"lm_head", "embed"},
                                  {"own", "embed"},  // stored in the file, so not an alias
                                  {"dangling", "nothing"}}));
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  EXPECT_EQ(checkpoint.aliases(),
            (std::map<std::string, std::string, std::less<>>{{"lm_head", "embed"}}));
  EXPECT_EQ(checkpoint.find("lm_head"), checkpoint.find("embed"));
  EXPECT_NE(checkpoint.find("own"), checkpoint.find("embed"));
  EXPECT_EQ(checkpoint.find("dangling"), nullptr);
  EXPECT_EQ(checkpoint.find("format"), nullptr);
}

TEST(Checkpoint, ResolvesAliasesAcrossShards) {
  const TempFolder folder;
  folder.write("1.safetensors", safetensors_bytes({counting_tensor("embed", {2})}));
  folder.write("2.safetensors",
               safetensors_bytes({counting_tensor("own", {1})}, {{"lm_head", "embed"}}));
  folder.write(kIndexName, index_text({{"embed", "1.safetensors"},
                                       {"own", "2.safetensors"},
                                       {"lm_head", "2.safetensors"}}));
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  EXPECT_EQ(checkpoint.find("lm_head"), checkpoint.find("embed"));
  EXPECT_TRUE(checkpoint.warnings().empty());
  EXPECT_EQ(checkpoint.missing_note("lm_head"), "");
}

TEST(Checkpoint, RejectsUnreadableCheckpoints) {
  const TempFolder folder;
  const std::string audio = safetensors_bytes({counting_tensor("a", {1})});
  const auto sharded = [&](const std::string& name, const std::string& shard) {
    folder.write(name + "/" + kIndexName, index_text({{"a", shard}}));
    return folder.path() / name;
  };
  folder.write("is-a-folder/model.safetensors/inside", "");
  fs::create_directories(folder.path() / "shard-folder" / "shard.safetensors");
  fs::create_directories(folder.path() / "loop");
  fs::create_symlink("model.safetensors", folder.path() / "loop" / "model.safetensors");
  folder.write("bad-shard/shard.safetensors", "not it");
  const std::string long_name = std::string(300, 'x') + ".safetensors";

  const struct {
    std::string_view fault;
    fs::path path;
    ErrorKind kind;
    std::string where;  // name in the message
    std::string_view said;
  } cases[] = {
      {"no path", "", ErrorKind::io, "", "no such file or folder"},
      {"nothing there", folder.path() / "absent", ErrorKind::io, "absent",
       "no such file or folder"},
      {"newline in the path", folder.path() / "a\nb", ErrorKind::io, "a\\x0ab", "no such file"},
      {"path too long", folder.path() / long_name, ErrorKind::io, long_name, "no such file"},
      {"empty folder", folder.write("empty/config.json", "{}").parent_path(), ErrorKind::io,
       "empty: ", "contains no weights"},
      {"only weights of TensorFlow", folder.write("h5/tf_model.h5", "").parent_path(),
       ErrorKind::unsupported, "h5: ", "contains only tf_model.h5"},
      {"an empty pickle", folder.write("pickle/pytorch_model.bin", "").parent_path(),
       ErrorKind::format, "pickle/pytorch_model.bin", "does not match its file extension"},
      {"an empty GGUF file", folder.write("gguf/tiny.gguf", "").parent_path(), ErrorKind::format,
       "gguf/tiny.gguf", "does not match its file extension"},
      {"several GGUF files",
       (folder.write("ggufs/a.gguf", ""), folder.write("ggufs/b.gguf", "").parent_path()),
       ErrorKind::usage, "ggufs: ", "several .gguf files"},
      {"its config.json", folder.write("config.json", "{}"), ErrorKind::unsupported, "config.json",
       "unsupported file format"},
      {"several indices",
       (folder.write("two/a.safetensors.index.json", ""),
        folder.write("two/b.safetensors.index.json", "").parent_path()),
       ErrorKind::usage, "two: ", "several .safetensors.index.json files"},
      {"folder named like a file", folder.path() / "is-a-folder", ErrorKind::io,
       "is-a-folder/model.safetensors", "is a directory"},
      {"a git-lfs pointer",
       folder.write("pointer.safetensors",
                    "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 123\n"),
       ErrorKind::format, "pointer.safetensors", "is a Git LFS pointer"},
      {"the root of a cache folder",
       (folder.write("models--a--b/snapshots/11/config.json", "{}"),
        folder.write("models--a--b/snapshots/22/config.json", "{}"),
        folder.write("models--a--b/refs/main", "22").parent_path().parent_path()),
       ErrorKind::io, "models--a--b: ", "models--a--b/snapshots/22"},
      {"the root of a cache folder without a main revision",
       folder.write("models--c--d/snapshots/33/config.json", "{}")
           .parent_path()
           .parent_path()
           .parent_path(),
       ErrorKind::io, "models--c--d: ", "models--c--d/snapshots/33"},
      {"link to itself", folder.path() / "loop", ErrorKind::io, "loop/model.safetensors",
       "cannot open"},
      {"index is not JSON", folder.write("bad-index/" + kIndexName, "{").parent_path(),
       ErrorKind::format, "bad-index/" + kIndexName, "not JSON"},
      {"missing shard", sharded("missing-shard", "shard.safetensors"), ErrorKind::io,
       "missing-shard/shard.safetensors", "is missing"},
      {"shard out of the folder", sharded("escape", "../config.json"), ErrorKind::format,
       "escape/" + kIndexName, "not a plain file name"},
      {"shard is a folder", sharded("shard-folder", "shard.safetensors"), ErrorKind::io,
       "shard-folder/shard.safetensors", "is a directory"},
      {"shard is no safetensors file", sharded("bad-shard", "shard.safetensors"), ErrorKind::format,
       "bad-shard/shard.safetensors", "too short"},
      {"shard with a name too long", sharded("long-shard", long_name), ErrorKind::io, long_name,
       "is missing"},
      {"shard is the index", sharded("self", kIndexName), ErrorKind::unsupported,
       "self/" + kIndexName, "unsupported file format"},
  };
  for (const auto& wrong : cases) {
    SCOPED_TRACE(wrong.fault);
    EXPECT_ERROR_SAYING(wrong.kind, Checkpoint::open(wrong.path), wrong.where, wrong.said);
  }
}

}  // namespace
}  // namespace attnscope
