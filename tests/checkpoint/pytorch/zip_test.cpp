#include "attnscope/checkpoint/pytorch/zip.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/torch_writer.h"

namespace attnscope {
namespace {

using test::little_endian;
using test::zip_bytes;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// Reads the directory and the local header of every entry.
void read_all(const std::string& archive) {
  const auto bytes = bytes_of(archive);
  for (const auto& [name, entry] : read_zip_directory(bytes, {"file.pt"})) {
    packed_bytes(bytes, name, entry, {"file.pt"});
  }
}

std::string content_of(const std::string& archive, const std::string& name) {
  const auto bytes = bytes_of(archive);
  const auto stored =
      packed_bytes(bytes, name, read_zip_directory(bytes, {"file.pt"}).at(name), {"file.pt"});
  return {reinterpret_cast<const char*>(stored.data()), stored.size()};
}

/// `text` with `bytes` written over its content at `place`.
std::string with(std::string text, std::size_t place, const std::string& bytes) {
  return text.replace(place, bytes.size(), bytes);
}

/// An archive whose sizes and offsets are in zip64 records, like those of large files.
std::string zip64_bytes(const std::string& name, const std::string& content) {
  const std::string extra = little_endian(0x4246, 2) + little_endian(2, 2) + "zz" +
                            little_endian(1, 2) + little_endian(24, 2) +
                            little_endian(content.size(), 8) + little_endian(content.size(), 8) +
                            little_endian(0, 8);
  std::string file = zip_bytes({{.name = name,
                                 .bytes = content,
                                 .declares_packed = 0xFFFFFFFF,
                                 .declares_bytes = 0xFFFFFFFF,
                                 .declares_header = 0xFFFFFFFF,
                                 .extra = extra}});
  const std::size_t end = file.size() - 22, directory = 30 + name.size() + content.size();
  const std::string end64 = "PK\6\6" + little_endian(44, 8) + std::string(12, '\0') +
                            little_endian(1, 8) + little_endian(1, 8) +
                            little_endian(end - directory, 8) + little_endian(directory, 8);
  const std::string locator =
      "PK\6\7" + std::string(4, '\0') + little_endian(end, 8) + little_endian(1, 4);
  return file.substr(0, end) + end64 + locator + "PK\5\6" + std::string(4, '\0') +
         std::string(12, '\xff') + std::string(2, '\0');
}

TEST(Zip, MapsStoredEntriesWithoutACopy) {
  const std::string archive = zip_bytes({{.name = "a/one", .bytes = "first"},
                                         {.name = "a/", .bytes = ""},
                                         {.name = "a/two", .bytes = ""}});
  EXPECT_EQ(content_of(archive, "a/one"), "first");
  EXPECT_EQ(content_of(archive, "a/two"), "");
  EXPECT_EQ(content_of(zip_bytes({{.name = "a", .bytes = "x"}}, {}, "a comment"), "a"), "x");
}

TEST(Zip, ReadsZip64) { EXPECT_EQ(content_of(zip64_bytes("a", "large"), "a"), "large"); }

TEST(Zip, RejectsMalformedArchives) {
  const std::string audio =
      zip_bytes({{.name = "a", .bytes = "first"}, {.name = "b", .bytes = "second"}});
  const std::size_t directory = 2 * 31 + 11, end = directory + 2 * 47;
  const std::string large = zip64_bytes("a", "large");
  const struct {
    std::string_view fault;
    std::string archive;
    std::string_view said;
  } archives[] = {
      {"only a start", "PK\3\4", "has no central directory (truncated download?)"},
      {"cut in the end record", audio.substr(0, audio.size() - 1), "has no central directory"},
      {"cut in the directory", audio.substr(0, end - 1), "has no central directory"},
      {"cut in an entry", audio.substr(0, 40), "has no central directory"},
      {"bytes after the end", audio + "x", "has no central directory"},
      {"bytes before the start", "x" + audio, "does not end at its end record"},
      {"bytes before the directory", with(audio, end + 16, little_endian(directory + 1, 4)),
       "does not end at its end record"},
      {"directory past the file", with(audio, end + 16, little_endian(0xFFFFFFF0, 4)),
       "does not end at its end record"},
      {"several disks", with(audio, end + 4, "\1"), "is split into several files"},
      {"more entries than fit", zip_bytes({{.name = "a"}}, 2),
       "2 entries do not fit into a central directory of 47 bytes"},
      {"fewer entries than there are", zip_bytes({{.name = "a"}, {.name = "b"}}, 1),
       "contains more than its entries"},
      {"no entry in the directory", with(audio, directory, "PK\1\3"), "contains an invalid entry"},
      {"name past the directory", with(audio, directory + 47 + 28, little_endian(200, 2)),
       "the central directory ends early"},
      {"two entries of one name", zip_bytes({{.name = "a"}, {.name = "a"}}),
       "two entries have the name 'a'"},
      {"name that climbs", zip_bytes({{.name = "a/../../etc/passwd"}}),
       "entry 'a/../../etc/passwd': its name points outside"},
      {"absolute name", zip_bytes({{.name = "/etc/passwd"}}), "its name points outside"},
      {"name with a backslash", zip_bytes({{.name = "a\\..\\b"}}), "its name points outside"},
      {"name with a NUL", zip_bytes({{.name = std::string("a\0b", 3)}}), "its name points outside"},
      {"empty name", zip_bytes({{.name = ""}}), "its name points outside"},
      {"encrypted", zip_bytes({{.name = "a", .flags = 1}}), "entry 'a': is encrypted"},
      {"directory encrypted", zip_bytes({{.name = "a", .flags = 0x2000}}), "is encrypted"},
      {"a patch", zip_bytes({{.name = "a", .flags = 0x20}}), "expected stored or deflated"},
      {"bzip2", zip_bytes({{.name = "a", .method = 12}}), "uses compression method 12"},
      {"stored in fewer bytes than it has",
       zip_bytes({{.name = "a", .bytes = "x", .declares_bytes = 1000}}),
       "is stored without compression, but its 1000 bytes take 1"},
      {"two entries on the same bytes",
       zip_bytes({{.name = "a", .bytes = "first"},
                  {.name = "b", .bytes = "second", .declares_header = 0}}),
       "its bytes overlap another entry"},
      {"an entry inside another",
       zip_bytes(
           {{.name = "a", .bytes = std::string(100, 'x')}, {.name = "b", .declares_header = 40}}),
       "its bytes overlap another entry"},
      {"longer than its place",
       zip_bytes({{.name = "a", .bytes = "x", .declares_packed = 60, .declares_bytes = 60},
                  {.name = "b"}}),
       "entry 'a': its bytes overlap another entry"},
      {"past the directory",
       zip_bytes({{.name = "a", .declares_packed = 1000, .declares_bytes = 1000}}),
       "overlap another entry or the central directory"},
      {"header past the directory", zip_bytes({{.name = "a", .declares_header = 1000}}), "overlap"},
      {"nothing at its start",
       zip_bytes({{.name = "a", .declares_header = 0}, {.name = "b"}}).replace(0, 4, "PK\3\5"),
       "points to an invalid entry"},
      {"another name in its own header", zip_bytes({{.name = "a", .local_name = "b"}}),
       "its header contradicts"},
      {"long extra field of its own", with(audio, 28, little_endian(60000, 2)), "overlap"},
      {"zip64 field missing",
       zip_bytes({{.name = "a", .declares_packed = 0xFFFFFFFF, .declares_bytes = 0xFFFFFFFF}}),
       "its zip64 field is missing"},
      {"zip64 field too short",
       zip_bytes({{.name = "a",
                   .declares_packed = 0xFFFFFFFF,
                   .declares_bytes = 0xFFFFFFFF,
                   .extra = little_endian(1, 2) + little_endian(8, 2) + std::string(8, '\0')}}),
       "its zip64 field ends early"},
      {"zip64 size of 2^64 - 1",
       zip_bytes({{.name = "a",
                   .declares_packed = 0xFFFFFFFF,
                   .declares_bytes = 0xFFFFFFFF,
                   .extra = little_endian(1, 2) + little_endian(16, 2) + std::string(16, '\xff')}}),
       "overlap"},
      {"zip64 record elsewhere", with(large, large.size() - 34, little_endian(0, 8)),
       "the zip64 locator does not point to an end record"},
      {"zip64 record past its locator",
       with(large, large.size() - 34, little_endian(UINT64_MAX, 8)),
       "does not precede its locator"},
      {"zip64 count of 2^64 - 1", with(large, large.size() - 42 - 24, little_endian(UINT64_MAX, 8)),
       "18446744073709551615 entries do not fit"},
  };
  for (const auto& bad : archives) {
    SCOPED_TRACE(bad.fault);
    EXPECT_ERROR_SAYING(ErrorKind::format, read_all(bad.archive), "file.pt: ", bad.said);
  }
}

TEST(Zip, EveryTruncationIsAnError) {
  const std::string audio =
      zip_bytes({{.name = "a", .bytes = "first"}, {.name = "b", .bytes = "second"}});
  for (std::size_t length = 0; length < audio.size(); ++length) {
    EXPECT_ERROR(ErrorKind::format, read_all(audio.substr(0, length)));
  }
}

TEST(Inflate, ReturnsExactlyTheDeclaredBytes) {
  const std::string text(5000, 'a'), packed = test::deflated(text);
  const std::uint32_t crc = 0x4cf45976;
  const auto unpack = [&](const std::string& bytes, std::uint64_t size) {
    return inflate_bytes(bytes_of(bytes), size, crc, {"file.pt", "entry 'a'"});
  };
  const std::vector<std::byte> got = unpack(packed, text.size());
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(got.data()), got.size()), text);

  const struct {
    std::string_view fault;
    std::string bytes;
    std::uint64_t size;
    std::string_view said;
  } streams[] = {
      {"promises less", packed, 4999, "unpacks to more bytes than its entry specifies"},
      {"promises more", packed, 5001, "unpacks to 5000 bytes from"},
      {"promises what cannot be", packed, std::uint64_t{1} << 40,
       "deflated bytes cannot hold the 1099511627776"},
      {"promises 2^64 - 1", packed, UINT64_MAX, "deflated bytes cannot hold"},
      {"cut", packed.substr(0, packed.size() - 2), 5000, "its deflated bytes are corrupt"},
      {"nothing", "", 0, "its deflated bytes are corrupt"},
      {"goes on after its end", packed + "x", 5000, "its entry specifies 5000 from"},
      {"no deflate stream", std::string(50, '\xff'), 5000, "its deflated bytes are corrupt"},
      {"other content", test::deflated(std::string(5000, 'b')), 5000, "another checksum"},
  };
  for (const auto& bad : streams) {
    SCOPED_TRACE(bad.fault);
    EXPECT_ERROR_SAYING(ErrorKind::format, unpack(bad.bytes, bad.size),
                        "file.pt: entry 'a': ", bad.said);
  }
}

}  // namespace
}  // namespace attnscope
