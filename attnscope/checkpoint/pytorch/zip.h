// Zip archives as written by torch.save: the positions of the entries' bytes. Source: PKWARE,
// APPNOTE.TXT 6.3.10.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "attnscope/checkpoint/byte_reader.h"

namespace attnscope {

/// One file of an archive, from the central directory.
struct ZipEntry {
  std::uint64_t packed_bytes = 0;
  std::uint64_t bytes = 0;   // size when unpacked
  std::uint64_t header = 0;  // position of its local header in the archive
  std::uint64_t limit = 0;   // position of the next header or the directory; the entry ends before
                             // it
  std::uint32_t crc = 0;
  bool deflated = false;  // false: stored without compression
};

/// Entries by name.
using ZipDirectory = std::map<std::string, ZipEntry, std::less<>>;

/// Reads the central directory, zip64 or not. Throws Error(format) for damaged or malicious
/// archives: entries that overlap, share a name, are encrypted, or have names that point outside of
/// a folder.
ZipDirectory read_zip_directory(std::span<const std::byte> archive, const FileLocation& where,
                                const NeedBytes& need = {});

/// Returns the bytes of an entry as stored, compressed or not. Does not call `need` for them.
/// Throws Error(format) if its local header contradicts the directory.
std::span<const std::byte> packed_bytes(std::span<const std::byte> archive, std::string_view name,
                                        const ZipEntry& entry, const FileLocation& where,
                                        const NeedBytes& need = {});

// Deflated bytes, as in zip files.

/// Unpacks exactly `size` bytes from `packed`, a complete raw deflate stream (RFC 1951). `crc` is
/// the checksum of the result. Throws Error(format) if the stream is damaged or has more or fewer
/// bytes. Before allocating, checks that the packed bytes can expand to `size` bytes.
std::vector<std::byte> inflate_bytes(std::span<const std::byte> packed, std::uint64_t size,
                                     std::uint32_t crc, const FileLocation& where);

}  // namespace attnscope
