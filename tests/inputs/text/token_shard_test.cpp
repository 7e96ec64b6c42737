#include "attnscope/inputs/text/token_shard.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

std::string little_endian(std::uint64_t value, int bytes) {
  std::string out;
  for (int byte = 0; byte < bytes; ++byte) out += static_cast<char>(value >> (8 * byte) & 0xFF);
  return out;
}

struct Header {
  std::int32_t magic = 20240520, version = 1, count = 0;
};

std::string shard_of(Header header, const std::vector<std::uint16_t>& tokens) {
  std::string out;
  for (const std::int32_t field : {header.magic, header.version, header.count}) {
    out += little_endian(static_cast<std::uint32_t>(field), 4);
  }
  out.resize(1024, '\x07');  // the rest of the header is ignored
  for (const std::uint16_t token : tokens) out += little_endian(token, 2);
  return out;
}

TEST(TokenShard, ReadsIds) {
  const test::TempFolder folder;
  const TokenShard shard(folder.write("a.bin", shard_of({.count = 4}, {1, 256, 65535, 50256})));
  EXPECT_EQ(shard.size(), 4);
  EXPECT_EQ(shard.ids(0, 4), (std::vector<std::int64_t>{1, 256, 65535, 50256}));
  EXPECT_EQ(shard.cut_windows({.sequences = 2, .length = 2}),
            (std::vector<TokenIds>{{1, 256}, {65535, 50256}}));
}

TEST(TokenShard, MayBeEmpty) {
  const test::TempFolder folder;
  const TokenShard shard(folder.write("a.bin", shard_of({}, {})));
  EXPECT_EQ(shard.size(), 0);
  shard.check_ids(1);
  EXPECT_ERROR_SAYING(ErrorKind::usage, shard.cut_windows({}),
                      "a.bin: ", "has 0 tokens, fewer than the 1 required for one sequence");
}

TEST(TokenShard, NamesAnIdOutsideTheVocabulary) {
  const test::TempFolder folder;
  const TokenShard shard(folder.write("a.bin", shard_of({.count = 3}, {511, 7, 512})));
  EXPECT_NO_THROW(shard.check_ids(513));
  EXPECT_ERROR_SAYING(ErrorKind::format, shard.check_ids(512), "a.bin: ", "512 at position 2",
                      "511");
}

TEST(TokenShard, DetectsTruncation) {
  const test::TempFolder folder;
  const auto file = folder.write("a.bin", shard_of({.count = 3}, {1, 2, 3}));
  const TokenShard shard(file);
  std::filesystem::resize_file(file, 1026);
  EXPECT_ERROR_SAYING(ErrorKind::io, shard.cut_windows({}), "a.bin: ", "was truncated");
}

TEST(TokenShard, RejectsMalformedFiles) {
  const std::string audio = shard_of({.count = 3}, {1, 2, 3});
  const struct {
    std::string_view fault;
    std::string bytes;
    std::string_view said;
  } files[] = {
      {"empty", "", "0 bytes are fewer than the 1024"},
      {"less than a header", audio.substr(0, 1023), "1023 bytes are fewer"},
      {"another file", std::string(2000, 'a'), "magic number is 1633771873, expected 20240520"},
      {"big-endian", shard_of({.magic = 0x48DA3401}, {}), "magic number is 1222259713"},
      {"version 2", shard_of({.version = 2}, {}), "of version 2, expected 1"},
      {"version of 32-bit tokens", shard_of({.version = 7}, {}), "of version 7, expected 1"},
      {"negative count", shard_of({.count = -1}, {}), "specifies -1 tokens"},
      {"cut", audio.substr(0, audio.size() - 2),
       "4 bytes of tokens, but its header specifies 3 tokens"},
      {"cut within a token", audio.substr(0, audio.size() - 1), "5 bytes of tokens"},
      {"longer", audio + "ab", "8 bytes of tokens, but its header specifies 3 tokens"},
      {"a header alone", audio.substr(0, 1024), "0 bytes of tokens"},
      {"the largest count", shard_of({.count = 2147483647}, {1}), "2147483647 tokens of 2 bytes"},
  };
  const test::TempFolder folder;
  for (const auto& wrong : files) {
    SCOPED_TRACE(wrong.fault);
    const auto file = folder.write("wrong.bin", wrong.bytes);
    EXPECT_ERROR_SAYING(ErrorKind::format, TokenShard{file}, "wrong.bin: ", wrong.said);
  }
  EXPECT_ERROR_SAYING(ErrorKind::io, TokenShard{folder.path() / "none.bin"}, "none.bin");
  EXPECT_ERROR(ErrorKind::io, TokenShard{folder.path()});
}

}  // namespace
}  // namespace attnscope
