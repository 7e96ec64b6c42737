#include "attnscope/checkpoint/pytorch/zip.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <optional>
#include <vector>

#include <zlib.h>

#include "attnscope/base/checked_arithmetic.h"
#include "attnscope/base/error.h"
#include "attnscope/base/text.h"

namespace attnscope {
namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::uint32_t kDirectoryEntry = 0x02014b50;
constexpr std::uint32_t kDirectoryEnd64 = 0x06064b50;
constexpr std::uint32_t kLocator64 = 0x07064b50;
constexpr std::size_t kLocalHeaderBytes = 30, kDirectoryEntryBytes = 46, kDirectoryEndBytes = 22;
constexpr std::size_t kDirectoryEnd64Bytes = 56, kLocator64Bytes = 20;
constexpr std::uint64_t kMaxComment = 65535;
constexpr std::uint64_t kMaxDirectoryBytes = 100'000'000;
constexpr std::uint32_t kSeeExtra = 0xFFFFFFFF;  // the number is in the zip64 extra field
constexpr std::uint16_t kEncrypted = 0x0001 | 0x0040 | 0x2000;  // including strong encryption
constexpr std::uint16_t kPatch = 0x0020;
constexpr std::uint16_t kStored = 0, kDeflated = 8;

struct DirectoryLocation {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  std::uint64_t entries = 0;
};

/// Finds the end record: the last one whose comment ends at the end of the file. Requests as much
/// of the file's end as the record may need, which often includes the whole directory.
std::size_t find_directory_end(std::span<const std::byte> archive, const FileLocation& where,
                               const NeedBytes& need) {
  const auto tail =
      archive.last(std::min<std::size_t>(archive.size(), kDirectoryEndBytes + kMaxComment));
  if (need) need(tail);
  for (std::size_t comment = 0; comment + kDirectoryEndBytes <= tail.size(); ++comment) {
    const std::size_t begin = tail.size() - kDirectoryEndBytes - comment;
    if (std::memcmp(tail.data() + begin, "PK\5\6", 4) != 0) continue;
    ByteReader record(tail.subspan(begin), where, "the end record");
    record.take(20);
    if (record.take_number<std::uint16_t>() == comment) {
      return archive.size() - tail.size() + begin;
    }
  }
  refuse(where, "the zip archive has no central directory", "truncated download?");
}

DirectoryLocation read_end64(std::span<const std::byte> archive, std::size_t locator,
                             const FileLocation& where, const NeedBytes& need) {
  ByteReader pointer(archive.subspan(locator), where, "the zip64 locator", need, kLocator64Bytes);
  pointer.take(8);
  const auto begin = pointer.take_number<std::uint64_t>();
  if (begin > locator || locator - begin < kDirectoryEnd64Bytes) {
    refuse(where, "the zip64 end record does not precede its locator");
  }
  ByteReader record(archive.subspan(static_cast<std::size_t>(begin)), where, "the zip64 end record",
                    need, kDirectoryEnd64Bytes);
  if (record.take_number<std::uint32_t>() != kDirectoryEnd64) {
    refuse(where, "the zip64 locator does not point to an end record");
  }
  record.take(12);  // its size, and the version that wrote it
  const auto disk = record.take_number<std::uint32_t>();
  const auto directory_disk = record.take_number<std::uint32_t>();
  if (disk != 0 || directory_disk != 0)
    refuse(where, "the zip archive is split into several files");
  record.take(8);  // entries on this disk
  DirectoryLocation location;
  location.entries = record.take_number<std::uint64_t>();
  location.bytes = record.take_number<std::uint64_t>();
  location.begin = record.take_number<std::uint64_t>();
  if (checked_add(location.begin, location.bytes) != begin) {
    refuse(where, "the central directory does not end at its end record");
  }
  return location;
}

DirectoryLocation find_directory(std::span<const std::byte> archive, const FileLocation& where,
                                 const NeedBytes& need) {
  const std::size_t end = find_directory_end(archive, where, need);
  ByteReader record(archive.subspan(end), where, "the end record");
  record.take(4);
  const auto disk = record.take_number<std::uint16_t>();
  const auto directory_disk = record.take_number<std::uint16_t>();
  record.take(2);  // entries on this disk
  DirectoryLocation location;
  location.entries = record.take_number<std::uint16_t>();
  location.bytes = record.take_number<std::uint32_t>();
  location.begin = record.take_number<std::uint32_t>();
  if (end >= kLocator64Bytes) {
    const std::size_t locator = end - kLocator64Bytes;
    ByteReader before(archive.subspan(locator), where, "the zip64 locator", need, kLocator64Bytes);
    // torch also writes a zip64 record if the numbers would fit without it.
    if (before.take_number<std::uint32_t>() == kLocator64) {
      return read_end64(archive, locator, where, need);
    }
  }
  if (disk != 0 || directory_disk != 0)
    refuse(where, "the zip archive is split into several files");
  if (checked_add(location.begin, location.bytes) != end) {
    refuse(where, "the central directory does not end at its end record",
           "was data added before or into the archive?");
  }
  return location;
}

/// Numbers that do not fit into 32 bits are in extra field 1, in this order.
void read_zip64_extra(ZipEntry& entry, std::span<const std::byte> extra,
                      const FileLocation& where) {
  std::vector<std::uint64_t*> wanted;
  for (std::uint64_t* number : {&entry.bytes, &entry.packed_bytes, &entry.header}) {
    if (*number == kSeeExtra) wanted.push_back(number);
  }
  if (wanted.empty()) return;
  ByteReader fields(extra, where, "its extra field");
  while (fields.left() > 0) {
    const auto id = fields.take_number<std::uint16_t>();
    const auto content = fields.take(fields.take_number<std::uint16_t>());
    if (id != 1) continue;
    ByteReader numbers(content, where, "its zip64 field");
    for (std::uint64_t* number : wanted) *number = numbers.take_number<std::uint64_t>();
    return;
  }
  refuse(where, "its zip64 field is missing");
}

/// Names that could make an unpacking program write outside of its folder.
bool leads_out(std::string_view name) {
  if (name.empty() || name.find_first_of(std::string_view("\\\0", 2)) != std::string_view::npos) {
    return true;
  }
  for (const std::string& part :
       split(name.ends_with('/') ? name.substr(0, name.size() - 1) : name, '/')) {
    if (part.empty() || part == "." || part == "..") return true;
  }
  return false;
}

struct NamedEntry {
  std::string name;
  ZipEntry entry;
};

NamedEntry read_entry(ByteReader& directory) {
  if (directory.take_number<std::uint32_t>() != kDirectoryEntry) {
    refuse(directory.where(), "the central directory contains an invalid entry");
  }
  directory.take(4);  // versions
  NamedEntry out;
  ZipEntry& entry = out.entry;
  const auto flags = directory.take_number<std::uint16_t>();
  const auto method = directory.take_number<std::uint16_t>();
  directory.take(4);  // time
  entry.crc = directory.take_number<std::uint32_t>();
  entry.packed_bytes = directory.take_number<std::uint32_t>();
  entry.bytes = directory.take_number<std::uint32_t>();
  const auto name_bytes = directory.take_number<std::uint16_t>();
  const auto extra_bytes = directory.take_number<std::uint16_t>();
  const auto comment_bytes = directory.take_number<std::uint16_t>();
  directory.take(8);  // disk, attributes
  entry.header = directory.take_number<std::uint32_t>();
  out.name = directory.take_text(name_bytes);
  const FileLocation where = {directory.where().file, "entry '" + out.name + "'"};
  read_zip64_extra(entry, directory.take(extra_bytes), where);
  directory.take(comment_bytes);

  if (leads_out(out.name)) refuse(where, "its name points outside of the archive's folder");
  if ((flags & kEncrypted) != 0) refuse(where, "is encrypted");
  if ((flags & kPatch) != 0 || (method != kStored && method != kDeflated)) {
    refuse(where,
           "uses compression method " + std::to_string(method) + ", expected stored or deflated");
  }
  entry.deflated = method == kDeflated;
  if (!entry.deflated && entry.packed_bytes != entry.bytes) {
    refuse(where, "is stored without compression, but its " +
                      counted(entry.bytes, "byte takes", "bytes take") + " " +
                      std::to_string(entry.packed_bytes));
  }
  return out;
}

/// Sets the limits: each entry must end before the header of the next one.
void check_no_overlap(std::vector<NamedEntry>& entries, std::uint64_t directory_begin,
                      const FileLocation& file) {
  std::sort(entries.begin(), entries.end(), [](const NamedEntry& a, const NamedEntry& b) {
    return a.entry.header < b.entry.header;
  });
  std::uint64_t limit = directory_begin;
  for (auto named = entries.rbegin(); named != entries.rend(); ++named) {
    ZipEntry& entry = named->entry;
    const FileLocation where = {file.file, "entry '" + named->name + "'"};
    const auto header_end = checked_add(entry.header, kLocalHeaderBytes + named->name.size());
    const auto end = header_end ? checked_add(*header_end, entry.packed_bytes) : std::nullopt;
    if (!end || *end > limit) {
      refuse(where, "its bytes overlap another entry or the central directory");
    }
    entry.limit = limit;
    limit = entry.header;
  }
  if (limit != 0) refuse(file, "there are extra bytes before the archive's first entry");
}

}  // namespace

ZipDirectory read_zip_directory(std::span<const std::byte> archive, const FileLocation& where,
                                const NeedBytes& need) {
  const DirectoryLocation location = find_directory(archive, where, need);
  if (location.bytes > kMaxDirectoryBytes) {
    refuse(where, "the central directory exceeds the limit of 100000000 bytes");
  }
  if (location.entries > location.bytes / kDirectoryEntryBytes) {
    refuse(where, counted(location.entries, "entry does", "entries do") +
                      " not fit into a central directory of " + counted(location.bytes, "byte"));
  }
  ByteReader directory(archive.subspan(static_cast<std::size_t>(location.begin),
                                       static_cast<std::size_t>(location.bytes)),
                       where, "the central directory", need,
                       static_cast<std::size_t>(location.bytes));
  std::vector<NamedEntry> entries;
  for (std::uint64_t count = 0; count < location.entries; ++count) {
    entries.push_back(read_entry(directory));
  }
  if (directory.left() > 0) refuse(where, "the central directory contains more than its entries");
  check_no_overlap(entries, location.begin, where);

  ZipDirectory out;
  for (NamedEntry& named : entries) {
    const auto [position, fresh] = out.emplace(named.name, named.entry);
    if (!fresh) refuse(where, "two entries have the name '" + verbatim(position->first) + "'");
  }
  return out;
}

std::span<const std::byte> packed_bytes(std::span<const std::byte> archive, std::string_view name,
                                        const ZipEntry& entry, const FileLocation& where,
                                        const NeedBytes& need) {
  const FileLocation location = {where.file, "entry '" + std::string(name) + "'"};
  const auto header = static_cast<std::size_t>(entry.header);
  ByteReader local(archive.subspan(header, static_cast<std::size_t>(entry.limit) - header),
                   location, "its part of the file", need, kLocalHeaderBytes + name.size());
  if (local.take_number<std::uint32_t>() != kLocalHeader) {
    refuse(location, "the central directory points to an invalid entry");
  }
  local.take(4);  // version, flags
  const auto method = local.take_number<std::uint16_t>();
  local.take(16);  // time, checksum and sizes, which may be 0 here
  const auto name_bytes = local.take_number<std::uint16_t>();
  const auto extra_bytes = local.take_number<std::uint16_t>();
  if (local.take_text(name_bytes) != name || method != (entry.deflated ? kDeflated : kStored)) {
    refuse(location, "its header contradicts the central directory");
  }
  const std::uint64_t begin = local.position() + std::uint64_t{extra_bytes};
  if (begin > local.left() + local.position() ||
      entry.packed_bytes > entry.limit - entry.header - begin) {
    refuse(location, "its bytes overlap another entry or the central directory");
  }
  return archive.subspan(header + static_cast<std::size_t>(begin),
                         static_cast<std::size_t>(entry.packed_bytes));
}

namespace {

/// The largest expansion of a deflate stream: 258 bytes from two bits.
constexpr std::uint64_t kMaxBytesOfOne = 1032;

/// zlib counts in 32 bits.
uInt piece(std::size_t left) { return static_cast<uInt>(std::min<std::size_t>(left, UINT_MAX)); }

}  // namespace

std::vector<std::byte> inflate_bytes(std::span<const std::byte> packed, std::uint64_t size,
                                     std::uint32_t crc, const FileLocation& where) {
  if (size / kMaxBytesOfOne > packed.size()) {
    refuse(where, counted(packed.size(), "deflated byte") + " cannot hold the " +
                      std::to_string(size) + " bytes that its entry specifies");
  }
  // One additional byte reveals a stream that is too long.
  std::vector<std::byte> out(static_cast<std::size_t>(size) + 1);
  z_stream stream = {};
  constexpr int kRaw = -MAX_WBITS;
  if (inflateInit2(&stream, kRaw) != Z_OK) refuse(where, "zlib cannot start");
  std::size_t used = 0, made = 0;
  int status = Z_OK;
  while (status == Z_OK) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + used));
    stream.avail_in = piece(packed.size() - used);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + made);
    stream.avail_out = piece(out.size() - made);
    const uInt in = stream.avail_in, room = stream.avail_out;
    status = inflate(&stream, Z_NO_FLUSH);
    used += in - stream.avail_in;
    made += room - stream.avail_out;
    if (made > size) break;
  }
  inflateEnd(&stream);
  if (made > size) refuse(where, "unpacks to more bytes than its entry specifies");
  if (status != Z_STREAM_END) refuse(where, "its deflated bytes are corrupt");
  if (made < size || used < packed.size()) {
    refuse(where, "unpacks to " + counted(made, "byte") + " from " + std::to_string(used) +
                      ", but its entry specifies " + std::to_string(size) + " from " +
                      std::to_string(packed.size()));
  }
  out.resize(made);
  if (crc32_z(0, reinterpret_cast<const Bytef*>(out.data()), out.size()) != crc) {
    refuse(where, "unpacks to bytes with another checksum than its entry specifies");
  }
  return out;
}

}  // namespace attnscope
