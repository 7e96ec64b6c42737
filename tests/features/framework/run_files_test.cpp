#include "attnscope/features/framework/run_files.h"
#include "attnscope/features/all_commands.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "attnscope/features/framework/command.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

class RunFilesTest : public testing::Test {
 protected:
  fs::path path(const std::string& name) const { return folder_.path() / name; }

  TempFolder folder_;
  RunFiles files_;
};

TEST_F(RunFilesTest, IdentifiesAFileUnderAnyName) {
  const fs::path book = folder_.write("book.txt", "text");
  fs::create_hard_link(book, path("second"));
  fs::create_symlink("book.txt", path("link"));
  fs::create_directory_symlink(folder_.path(), path("here"));
  files_.add_input("text_file", book);
  for (const char* name : {"book.txt", "second", "link", "here/book.txt", "./book.txt", "here/link",
                           "book.txt/below"}) {
    EXPECT_ERROR_SAYING(ErrorKind::usage, files_.add_output("out", path(name)), "out: '", name,
                        "is the file passed to text_file; choose another file");
  }
  for (const char* name : {"Book.txt", "book", "book.txt.csv", "here/other", "absent/file"}) {
    files_.add_output("out", path(name));
  }
}

TEST_F(RunFilesTest, IdentifiesAFileThatDoesNotExistYet) {
  fs::create_symlink("later", path("link"));
  files_.add_output("save", path("rows"));
  files_.add_output("maps", path("link"));
  EXPECT_ERROR_SAYING(ErrorKind::usage, files_.add_output("out", path("./rows")), "save");
  EXPECT_ERROR_SAYING(ErrorKind::usage, files_.add_input("layout", path("link")), "maps: '");
  files_.add_output("save", path("rows"));  // the same parameter again
}

TEST_F(RunFilesTest, PipesAndDevicesAreNotFiles) {
  const fs::path pipe = path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  files_.add_input("text_file", pipe);
  files_.add_output("out", pipe);
  files_.add_input("layout", "/dev/null");
  files_.add_output("save", "/dev/null");
  EXPECT_ERROR_SAYING(ErrorKind::usage, files_.add_output("maps", pipe), "out");
}

TEST_F(RunFilesTest, CollectsAllFilesOfArguments) {
  const Command& report = find_command_named("report");
  const fs::path book = folder_.write("book.txt", "text");
  const auto refused = [&](const ArgumentTexts& given, std::string_view said) {
    ArgumentTexts all = {{"models", "m"}};
    all.insert(all.end(), given.begin(), given.end());
    EXPECT_ERROR_SAYING(ErrorKind::usage, files_of(report.parameters, arguments_of(report, all)),
                        said);
  };
  refused({{"text_file", book}, {"out", book}}, "out: '");
  refused({{"token_file", book}, {"charts", path("book.txt")}}, "charts: '");
  refused({{"layout", path("r.sqlite-wal")}, {"charts", "x"}, {"store", path("r.sqlite")}},
          "store: '");
  fs::create_directory(path("charts"));
  fs::create_symlink(book, path("charts/loss.vl.json"));
  refused({{"text_file", book}, {"charts", path("charts")}}, "charts/loss.vl.json");
  refused({{"charts", path("charts")}, {"out", path("charts/loss.vl.json")}},
          "has an unsupported file extension: .json");
  fs::rename(path("charts/loss.vl.json"), path("charts/loss.txt"));  // is left as it is
  files_of(report.parameters, arguments_of(report, {{"models", "m"},
                                                    {"text_file", book},
                                                    {"charts", path("charts")},
                                                    {"out", path("charts/page.html")}}));
}

TEST_F(RunFilesTest, ProtectsAllFilesOfAModel) {
  const fs::path model = path("model");
  fs::copy(fs::path(ATTNSCOPE_SOURCE_DIR) / "tests/data/llama", model);
  const std::string shard = "model/model-00001-of-00002.safetensors";
  fs::create_symlink(shard, path("alias"));
  const Checkpoint checkpoint = Checkpoint::open(model);
  files_.add_output("out", path("rows"));
  files_.add_model(checkpoint, "llama", true);
  for (const std::string name : {shard.c_str(), "model/model.safetensors.index.json",
                                 "model/config.json", "model/vocab.txt", "alias"}) {
    EXPECT_ERROR_SAYING(ErrorKind::usage, files_.check_output("path", path(name)), name,
                        "is a file of the model 'llama'");
  }
  files_.check_output("path", path("model/rows.json"));
  files_.check_output("path", path("model/other.safetensors"));
  EXPECT_ERROR_SAYING(ErrorKind::usage,
                      files_.check_output("path", path("model/model.safetensors")),
                      "would be read as weights of the model 'llama'");
  RunFiles before;  // outputs that are known first are held against the model, too
  before.add_output("out", path("model/tokenizer_config.json"));
  EXPECT_ERROR_SAYING(ErrorKind::usage, before.add_model(checkpoint, "llama", true), "out: '");
}

TEST_F(RunFilesTest, KeepsInputFromAPipe) {
  const fs::path pipe = path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const auto send = [&](std::string_view text) {
    return std::jthread([=] { std::ofstream(pipe, std::ios::binary) << text; });
  };
  const std::string long_text(300'000, 'x');
  {
    const auto writer = send(long_text);
    EXPECT_EQ(files_.read_text(pipe, 1'000'000), long_text);
  }
  EXPECT_EQ(files_.read_text(pipe, 1'000'000), long_text);
  EXPECT_EQ(files_.read_text("/dev/null", 10), "");
  EXPECT_ERROR_SAYING(ErrorKind::io, files_.read_text("/dev/zero", 10), "/dev/zero",
                      "is a device, expected a file or a pipe");
  EXPECT_ERROR(ErrorKind::io, files_.read_text(path("absent"), 10));
}

TEST_F(RunFilesTest, ReadsAnEndlessPipeUpToTheLimit) {
  const fs::path pipe = path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::jthread writer([=] { std::ofstream(pipe, std::ios::binary) << "twelve bytes"; });
  EXPECT_ERROR_SAYING(ErrorKind::format, files_.read_text(pipe, 10), "larger than 10 bytes");
}

TEST_F(RunFilesTest, StripsTheByteOrderMarkOfTexts) {
  EXPECT_EQ(files_.read_text(folder_.write("text.txt", "\xEF\xBB\xBFtext"), 10), "text");
}

}  // namespace
}  // namespace attnscope::test
