// Zip archives as torch.save writes them: where each entry's bytes lie.
// Source: PKWARE, APPNOTE.TXT 6.3.10.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "attnscope/checkpoint/byte_reader.h"

namespace attnscope {

/// One file of an archive, by the central directory.
struct ZipEntry {
  std::uint64_t packed_bytes = 0;
  std::uint64_t bytes = 0;   // unpacked
  std::uint64_t header = 0;  // where its local header begins in the archive
  std::uint64_t limit = 0;   // where the next header or the directory begins; the entry ends before
  std::uint32_t crc = 0;
  bool deflated = false;  // else stored as it is
};

/// Entries by name.
using ZipDirectory = std::map<std::string, ZipEntry, std::less<>>;

/// Reads the central directory, zip64 or not. Throws Error(format) for damaged or malicious
/// archives: entries that overlap, share a name, are encrypted, or whose names lead out of a
/// folder.
ZipDirectory read_zip_directory(std::span<const std::byte> archive, const FileLocation& where,
                                const NeedBytes& need = {});

/// The bytes of an entry as stored, packed or not. Does not call `need` for them. Throws
/// Error(format) if its local header disagrees with the directory.
std::span<const std::byte> packed_bytes(std::span<const std::byte> archive, std::string_view name,
                                        const ZipEntry& entry, const FileLocation& where,
                                        const NeedBytes& need = {});

// Deflated bytes, as zip files hold them.

/// Unpacks exactly `size` bytes from `packed`, a raw deflate stream (RFC 1951) that fills it; `crc`
/// is that of the result. Throws Error(format) if the stream is damaged or holds more or fewer
/// bytes. Checks before allocating that so few packed bytes can hold `size` bytes.
std::vector<std::byte> inflate_bytes(std::span<const std::byte> packed, std::uint64_t size,
                                     std::uint32_t crc, const FileLocation& where);

}  // namespace attnscope
