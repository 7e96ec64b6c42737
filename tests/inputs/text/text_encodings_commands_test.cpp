// Text files as written by Windows programs, and files that are not text.
#include <filesystem>

#include "tests/support/refusals.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

const std::string kMark = "\xEF\xBB\xBF";

class TextEncodings : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  /// The same text with and without a byte order mark, under one name, because reports contain the
  /// name.
  std::pair<std::string, std::string> both_of(const std::string& name, const std::string& text) {
    return {folder_.write("plain/" + name, text).string(),
            folder_.write("marked/" + name, kMark + text).string()};
  }

  TempFolder folder_;
  const std::string gpt2_ = source_path("examples/shakespeare-gpt2");
};

TEST_F(TextEncodings, AByteOrderMarkChangesNothing) {
  const auto [plain, marked] = both_of("stdin", "To be, or not to be: that is");
  const Words predict = {"predict", gpt2_, "--format", "json", "--text-file"};
  const std::string expected = output_of(predict + Words{plain});
  EXPECT_EQ(output_of(predict + Words{marked}), expected);
  EXPECT_EQ(output_of(predict + Words{"-"},
                      {.input = kMark + "To be, or not to be: that is", .input_is_piped = true}),
            expected);

  const auto [prompts, marked_prompts] =
      both_of("p.jsonl", R"({"clean": "I say that thou", "correct": " art", "incorrect": " are"})");
  const Words lens = {"lens", gpt2_, "--quiet", "--format", "json", "--prompts"};
  EXPECT_EQ(output_of(lens + Words{marked_prompts}), output_of(lens + Words{prompts}));

  std::string long_text;
  for (int line = 0; line < 60; ++line) long_text += "To be, or not to be: that is\n";
  const auto [held_out, marked_held_out] = both_of("held.txt", long_text);
  const Words plan = {"plan",    gpt2_,     "--calibration-file", held_out, "--set",
                      "mlp=500", "--quiet", "--format",           "json",   "--eval-file"};
  EXPECT_EQ(output_of(plan + Words{marked_held_out}), output_of(plan + Words{held_out}));
}

/// A copy of a model whose config and tokenizer start with a byte order mark.
TEST_F(TextEncodings, AByteOrderMarkInModelFilesChangesNothing) {
  const fs::path copy = folder_.path() / "shakespeare-gpt2";
  for (const auto& entry : fs::directory_iterator(gpt2_)) {
    const std::string name = entry.path().filename().string();
    const bool is_text = name.ends_with(".json") && !name.ends_with(".index.json");
    folder_.write(copy / name, (is_text ? kMark : "") + read_file(entry.path()));
  }
  const Words text = {"--text", "To be, or not", "--format", "json"};
  EXPECT_EQ(output_of(Words{"predict", copy.string()} + text),
            output_of(Words{"predict", gpt2_} + text));
}

TEST_F(TextEncodings, NamesOtherEncodings) {
  using namespace std::string_literals;
  const std::string utf16 = folder_.write("a.txt", "\xFF\xFET\0o\0"s).string();
  const std::string bare = folder_.write("b.txt", "T\0o\0 \0b\0e\0"s).string();
  const std::string utf32 = folder_.write("c.txt", "\xFF\xFE\0\0T\0\0\0"s).string();
  const Words predict = {"predict", gpt2_, "--text-file"};
  const Words is_utf16 = {utf16 + ": the text is UTF-16, expected UTF-8"};
  expect_refusals(
      kBadFile,
      {{"text", predict + Words{utf16}, is_utf16},
       {"no mark", predict + Words{bare}, {bare + ": the text is UTF-16LE, expected UTF-8"}},
       {"UTF-32", predict + Words{utf32}, {utf32 + ": the text is UTF-32, expected UTF-8"}},
       {"prompts", {"lens", gpt2_, "--prompts", utf16}, is_utf16},
       {"layout", {"info", gpt2_, "--layout", utf16}, is_utf16},
       {"report", {"report", gpt2_, "--text-file", bare, "-o", path("r.html")}, {"UTF-16LE"}}});
}

/// Reading a device such as /dev/zero would never end.
TEST_F(TextEncodings, RejectsDevicesBeforeReadingThem) {
  const std::string text = folder_.write("text.txt", "To be, or not to be").string();
  for (const char* device : {"/dev/zero", "/dev/urandom"}) {
    const Words said = {std::string(device) + ": is a device, expected a file or a pipe"};
    expect_refusals(
        kIo,
        {{"text", {"predict", gpt2_, "--text-file", device}, said},
         {"prompts", {"lens", gpt2_, "--prompts", device}, said},
         {"held out",
          {"plan", gpt2_, "--calibration-file", text, "--eval-file", device, "--set", "mlp=500"},
          said},
         {"report", {"report", gpt2_, "--text-file", device, "-o", path("r.html")}, said}});
  }
  EXPECT_FALSE(fs::exists(path("r.html")));
}

}  // namespace
}  // namespace attnscope::test
