#include "attnscope/checkpoint/gguf/gguf_file.h"

#include <gtest/gtest.h>

#include <cmath>

#include "attnscope/checkpoint/checkpoint.h"
#include "tests/support/expect_error.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

using namespace test;

constexpr std::uint32_t kF32 = 0, kQ4K = 12;

GgufFile parse(const std::string& bytes) {
  return parse_gguf(std::as_bytes(std::span(bytes)), "m.gguf");
}

std::string nested_arrays(int depth) {
  std::string out;
  for (int level = 0; level < depth; ++level)
    out += number_bytes(gguf_array) + number_bytes<std::uint64_t>(1);
  return out + number_bytes(gguf_u8) + number_bytes<std::uint64_t>(0);
}

TEST(GgufFile, RejectsMalformedFiles) {
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 63;
  const auto value = [](std::uint32_t type, const std::string& bytes) {
    return gguf_head(0, 1) + gguf_pair("k", type, bytes);
  };
  const auto entry = [](const std::vector<std::uint64_t>& sizes, std::uint32_t type,
                        std::uint64_t offset) {
    return gguf_bytes({}, {gguf_entry("t", sizes, type, offset)}, 64);
  };
  const auto alignment = [](std::uint32_t type, const std::string& bytes) {
    return gguf_bytes({gguf_pair("general.alignment", type, bytes)},
                      {gguf_entry("t", {8}, kF32, 0)}, 64);
  };
  const struct {
    std::string_view fault;
    std::string file;
    std::string_view said;
    ErrorKind kind = ErrorKind::format;
  } files[] = {
      {"three bytes", "GGU", "ends within the first bytes of a GGUF file at byte 0"},
      {"another format", "GGMLxxxxxxxxxxxxxxxxxxxxx", "does not start with 'GGUF'"},
      {"version 1", gguf_head(0, 0, 1), "version 1 of GGUF is not supported",
       ErrorKind::unsupported},
      {"version 4", gguf_head(0, 0, 4), "version 4 of GGUF is not supported",
       ErrorKind::unsupported},
      {"cut within the version", "GGUF\x03", "ends within the version at byte 4"},
      {"cut within the counts", gguf_head(0, 0).substr(0, 20), "ends within the number of values"},
      {"2^63 tensors", gguf_head(kHuge, 0), "ends within the name of a tensor"},
      {"2^64 - 1 values", gguf_head(0, UINT64_MAX), "ends within a key"},
      {"key of 2^63 bytes", gguf_head(0, 1) + number_bytes(kHuge), "ends within a key"},
      {"key over the limit", gguf_head(0, 1) + gguf_text(std::string(65'536, 'k')),
       "a key has 65536 bytes, exceeding the limit of 65535"},
      {"key that is not UTF-8", gguf_head(0, 1) + gguf_text("a\xFF"),
       "a key is not UTF-8 at byte 1"},
      {"value of an unknown type", value(13, ""), "the value of 'k' has the unknown type 13"},
      {"cut within a value", value(gguf_u64, "1234"), "ends within a value"},
      {"text of 2^63 bytes", value(gguf_string, number_bytes(kHuge)), "ends within a text"},
      {"array of 2^61 numbers of 8 bytes",
       value(gguf_array, gguf_array_of(gguf_u64, kHuge / 4, "")), "more than a file can contain"},
      {"array of 2^63 bytes", value(gguf_array, gguf_array_of(gguf_u8, kHuge, "")),
       "ends within an array"},
      {"array of 2^63 texts", value(gguf_array, gguf_array_of(gguf_string, kHuge, "")),
       "ends within a text in an array"},
      {"array of arrays without end", value(gguf_array, gguf_array_of(gguf_array, kHuge, "")),
       "ends within the type of a value"},
      {"array of an unknown type", value(gguf_array, gguf_array_of(99, 1, "")),
       "has the unknown type 99"},
      {"arrays nested ten deep", value(gguf_array, nested_arrays(10)),
       "nested deeper than 8 arrays"},
      {"a key twice",
       gguf_bytes({gguf_pair("k", gguf_u8, "1"), gguf_pair("k", gguf_u8, "2")}, {}, 0),
       "the key 'k' occurs twice"},
      {"a name twice",
       gguf_bytes({}, {gguf_entry("t", {8}, kF32, 0), gguf_entry("t", {8}, kF32, 32)}, 64),
       "tensor 't' occurs twice"},
      {"five dimensions", entry({1, 1, 1, 1, 1}, kF32, 0), "has 5 dimensions, the limit is 4"},
      {"2^32 - 1 dimensions", gguf_head(1, 0) + gguf_text("t") + number_bytes(UINT32_MAX),
       "has 4294967295 dimensions"},
      {"a size of 2^63", entry({kHuge}, kF32, 0), "tensor 't': its shape overflows"},
      {"sizes whose product wraps to zero", entry({kHuge / 2, 4}, kF32, 0), "its shape overflows"},
      {"bytes that wrap", entry({kHuge / 4, 2}, kF32, 0), "its shape overflows"},
      {"an unknown type", entry({8}, 99, 0), "has the unknown type 99", ErrorKind::unsupported},
      {"a withdrawn type", entry({8}, 4, 0), "has the unknown type 4", ErrorKind::unsupported},
      {"rows that are no whole blocks", entry({100}, kQ4K, 0),
       "rows of 100 values cannot be divided into Q4_K blocks of 256"},
      {"blocks across rows", entry({128, 2}, kQ4K, 0), "cannot be divided into Q4_K blocks"},
      {"a misaligned offset", entry({8}, kF32, 16),
       "its offset 16 is not a multiple of the alignment 32"},
      {"past the end", entry({32}, kF32, 0), "its 128 bytes at 0 reach past the end of the file"},
      {"an offset that wraps", entry({16}, kF32, UINT64_MAX - 31), "reach past the end"},
      {"an overlap",
       gguf_bytes({}, {gguf_entry("a", {16}, kF32, 0), gguf_entry("b", {8}, kF32, 32)}, 64),
       "tensor 'b': its bytes overlap another tensor's"},
      {"alignment zero", alignment(gguf_u32, number_bytes<std::uint32_t>(0)),
       "'general.alignment' is not a power of two"},
      {"alignment 48", alignment(gguf_u32, number_bytes<std::uint32_t>(48)), "not a power of two"},
      {"alignment as a text", alignment(gguf_string, gguf_text("32")), "not a power of two"},
      {"alignment larger than the file", alignment(gguf_u64, number_bytes<std::uint64_t>(kHuge)),
       "reach past the end of the file"},
  };
  const TempFolder folder;
  for (const auto& wrong : files) {
    SCOPED_TRACE(wrong.fault);
    EXPECT_ERROR_SAYING(wrong.kind, parse(wrong.file), "m.gguf", wrong.said);
    if (!wrong.file.starts_with("GGUF")) continue;
    const auto path = folder.write("m.gguf", wrong.file);
    EXPECT_ERROR_SAYING(wrong.kind, Checkpoint::open(path), path.string(), wrong.said);
  }
}

TEST(GgufFile, ReadsEveryKindOfValue) {
  const std::string bytes = gguf_bytes(
      {gguf_pair("whole", gguf_u32, number_bytes<std::uint32_t>(7)),
       gguf_pair("negative", gguf_i32, number_bytes<std::int32_t>(-7)),
       gguf_pair("epsilon", gguf_f32, number_bytes(1e-6F)), gguf_pair("yes", gguf_bool, "\1"),
       gguf_pair("text", gguf_string, gguf_text("hello")),
       gguf_pair("texts", gguf_array,
                 gguf_array_of(gguf_string, 2, gguf_text("a") + gguf_text(""))),
       gguf_pair("wholes", gguf_array, gguf_array_of(gguf_u8, 3, "\1\2\3")),
       gguf_pair("nested", gguf_array, nested_arrays(3)),
       gguf_pair("infinite", gguf_f32, number_bytes(INFINITY))},
      {}, 0);
  const GgufFile file = parse(bytes);
  EXPECT_EQ(file.whole("whole"), 7);
  EXPECT_EQ(file.whole("absent"), std::nullopt);
  EXPECT_EQ(file.number("epsilon"), 1e-6);  // and not the float32 value next to it
  EXPECT_EQ(file.number("whole"), 7);
  EXPECT_EQ(file.flag("yes"), true);
  EXPECT_EQ(file.text("text"), "hello");
  EXPECT_EQ(file.texts("texts"), (std::vector<std::string_view>{"a", ""}));
  EXPECT_EQ(file.wholes("wholes"), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_TRUE(file.has("nested"));
  EXPECT_ERROR_SAYING(ErrorKind::format, file.whole("negative"), "m.gguf",
                      "the value of 'negative' is not a non-negative integer");
  EXPECT_ERROR_SAYING(ErrorKind::format, file.number("infinite"), "is not a finite number");
  EXPECT_ERROR_SAYING(ErrorKind::format, file.text("yes"), "is not a text");
  EXPECT_ERROR_SAYING(ErrorKind::format, file.texts("wholes"), "is not a list of texts");
  EXPECT_ERROR_SAYING(ErrorKind::format, file.numbers("wholes"), "is not a list of float32");
}

TEST(GgufFile, SortsTensorsByOffset) {
  const std::string bytes =
      gguf_bytes({},
                 {gguf_entry("b", {4, 2}, kF32, 32), gguf_entry("scalar", {}, kF32, 64),
                  gguf_entry("a", {0, 3}, kF32, 0)},
                 68);
  const GgufFile file = parse(bytes);
  ASSERT_EQ(file.tensors.size(), 3u);
  EXPECT_EQ(file.tensors[0].name, "a");
  EXPECT_EQ(file.tensors[0].shape, (Shape{3, 0}));
  EXPECT_EQ(file.tensors[1].shape, (Shape{2, 4}));
  EXPECT_EQ(file.tensors[1].bytes.size(), 32u);
  EXPECT_EQ(file.tensors[2].shape, Shape{});
}

TEST(GgufFile, RequestsOnlyTheHeader) {
  const std::string bytes = gguf_bytes({}, {gguf_entry("t", {1 << 20}, kF32, 0)}, 4 << 20);
  std::size_t asked = 0;
  parse_gguf(std::as_bytes(std::span(bytes)), "m.gguf",
             [&](std::span<const std::byte> part) { asked += part.size(); });
  EXPECT_GT(asked, 0u);
  EXPECT_LT(asked, 1u << 19);
}

}  // namespace
}  // namespace attnscope
