#include "attnscope/checkpoint/pytorch/archive.h"

#include <charconv>

#include "attnscope/base/error.h"
#include "attnscope/checkpoint/pytorch/zip.h"

namespace attnscope {
namespace {

constexpr std::string_view kPickle = "data.pkl", kByteOrder = "byteorder";
constexpr std::uint64_t kMaxContentBytes = 100'000'000;
constexpr int kOldestVersion = 1, kNewestVersion = 10;

std::string_view archive_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Archive::Archive(std::span<const std::byte> bytes, const std::string& file, const NeedBytes& need)
    : bytes_(bytes), file_(file), need_(need), entries_(read_zip_directory(bytes, {file}, need)) {
  top_ = find_top();
  if (has("constants.pkl")) {
    throw Error(ErrorKind::unsupported,
                {.file = file,
                 .problem = "is a TorchScript program, which is not supported",
                 .hint = "save its state_dict() with torch.save"});
  }
  check_version();
}

std::string Archive::find_top() const {
  std::string top;
  for (const auto& [name, entry] : entries_) {
    const std::size_t end = name.find('/');
    if (end == std::string::npos || name.substr(end + 1) != kPickle) continue;
    if (!top.empty()) refuse({file_}, "contains two folders with a data.pkl");
    top = name.substr(0, end + 1);
  }
  if (top.empty())
    refuse({file_}, "is a zip archive without data.pkl, so torch.save did not write it");
  return top;
}

void Archive::check_version() const {
  const std::string_view name = has("version") ? "version" : ".data/version";
  if (!has(name))
    refuse({file_}, "is a zip archive without a version, so torch.save did not write it");
  std::vector<std::byte> memory;
  const std::string_view text = archive_text(content(name, memory));
  int version = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), version);
  if (parsed.ec != std::errc() || version < kOldestVersion || version > kNewestVersion) {
    throw Error(ErrorKind::unsupported,
                {.file = file_,
                 .problem = "has an unsupported version of torch.save's format, expected 1 to 10"});
  }
}

std::span<const std::byte> Archive::content(std::string_view name,
                                            std::vector<std::byte>& memory) const {
  const auto& [path, entry] = *entries_.find(top_ + std::string(name));
  const FileLocation where = {file_, "entry '" + path + "'"};
  if (entry.bytes > kMaxContentBytes) refuse(where, "exceeds the limit of 100000000 bytes");
  const auto packed = packed_bytes(bytes_, path, entry, {file_}, need_);
  if (need_) need_(packed);
  if (!entry.deflated) return packed;
  memory = inflate_bytes(packed, entry.bytes, entry.crc, where);
  return memory;
}

Pickle Archive::pickle() {
  return read_pickle(content(kPickle, unpacked_pickle_), {file_, std::string(kPickle)});
}

bool Archive::is_big_endian() const {
  if (!has(kByteOrder)) return false;
  std::vector<std::byte> memory;
  const std::string_view order = archive_text(content(kByteOrder, memory));
  if (order != "little" && order != "big") {
    refuse({file_, std::string(kByteOrder)}, "is neither 'little' nor 'big'");
  }
  return order == "big";
}

StorageRecord Archive::storage(std::string_view key) const {
  const auto found = entries_.find(top_ + "data/" + std::string(key));
  if (found == entries_.end()) {
    refuse({file_}, "contains no storage '" + verbatim(key) + "', which a tensor requires");
  }
  const ZipEntry& entry = found->second;
  return {.packed = packed_bytes(bytes_, found->first, entry, {file_}, need_),
          .bytes = entry.bytes,
          .crc = entry.crc,
          .deflated = entry.deflated};
}

}  // namespace attnscope
