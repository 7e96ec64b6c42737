#include "attnscope/checkpoint/pytorch/legacy_format.h"

#include <cstring>
#include <optional>
#include <string_view>

#include "attnscope/base/checked_arithmetic.h"
#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/pytorch/state_dict.h"

namespace attnscope {
namespace {

/// LONG1, ten bytes of number, STOP.
constexpr std::string_view kLegacyMagic("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 13);
constexpr std::size_t kProtocolBytes = 2, kFrameBytes = 9;
constexpr char kProtocol = '\x80', kFrame = '\x95';
constexpr std::int64_t kVersion = 1001;

/// The four pickles after the magic number, and the position where the storages begin.
struct Pickles {
  Pickle version, system, object, keys;
  std::size_t end = 0;
};

Pickles read_pickles(std::span<const std::byte> bytes, const std::string& file,
                     const NeedBytes& need) {
  Pickles out;
  out.end = read_pickle(bytes, {file, "magic number"}, need).bytes;
  const auto next = [&](const char* name) {
    Pickle pickle = read_pickle(bytes.subspan(out.end), {file, name}, need);
    out.end += pickle.bytes;
    return pickle;
  };
  out.version = next("version");
  out.system = next("system");
  out.object = next("object");
  out.keys = next("storage keys");
  return out;
}

bool declares_big_endian(const Pickle& system) {
  const PickleRef little = find_item(system, system.root, "little_endian");
  return little != kNoPickleRef && system.at(little).integer == 0;
}

/// Returns every storage that the object refers to, by key.
std::map<std::string, PickledStorage, std::less<>> named_storages(const Pickle& object,
                                                                  const FileLocation& where) {
  std::map<std::string, PickledStorage, std::less<>> named;
  for (const PickleNode& node : object.nodes) {
    const auto storage = describe_storage(object, node, where);
    if (!storage) continue;
    const auto [known, fresh] = named.emplace(storage->key, *storage);
    if (!fresh && known->second.element_bytes != storage->element_bytes) {
      refuse(where, "storage '" + verbatim(storage->key) + "' has two different element sizes");
    }
  }
  return named;
}

}  // namespace

bool starts_legacy_stream(std::span<const std::byte> start) {
  std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  if (text.size() < kProtocolBytes || text.front() != kProtocol) return false;
  text.remove_prefix(kProtocolBytes);
  if (text.size() >= kFrameBytes && text.front() == kFrame) text.remove_prefix(kFrameBytes);
  return text.starts_with(kLegacyMagic);
}

LegacyStream read_legacy_stream(std::span<const std::byte> bytes, const std::string& file,
                                const NeedBytes& need) {
  Pickles pickles = read_pickles(bytes, file, need);
  const FileLocation where = {file};
  const PickleNode& version = pickles.version.at(pickles.version.root);
  if (version.kind != PickleKind::integer || version.integer != kVersion) {
    refuse(where, "is a torch stream of an unsupported version, expected 1001");
  }
  LegacyStream out{.big_endian = declares_big_endian(pickles.system)};
  const auto named = named_storages(pickles.object, {file, "object"});

  ByteReader data(bytes, where, "the file", need, sizeof(std::uint64_t));
  data.pass_over(pickles.end);
  data.set_big_endian(out.big_endian);
  const PickleNode& keys = pickles.keys.at(pickles.keys.root);
  if (keys.kind != PickleKind::list) refuse({file, "storage keys"}, "is not a list");
  for (const PickleRef item : keys.items) {
    const std::string key(pickles.keys.at(item).text);
    const FileLocation location = {file, "storage '" + key + "'"};
    const auto storage = named.find(key);
    if (storage == named.end()) refuse(location, "no tensor refers to it, so its size is unknown");
    const auto count = data.take_number<std::uint64_t>();
    const auto size = checked_mul(count, storage->second.element_bytes);
    if (!size || *size > data.left()) {
      refuse(location,
             "its " + counted(count, "element reaches", "elements reach") +
                 " past the end of the file",
             "truncated download?");
    }
    const auto stored = data.pass_over(*size);
    if (!out.storages.emplace(key, StorageRecord{.packed = stored, .bytes = *size}).second) {
      refuse(location, "is listed twice");
    }
  }
  if (data.left() > 0) {
    refuse(where, counted(data.left(), "byte follows", "bytes follow") + " the last storage");
  }
  out.pickle = std::move(pickles.object);
  return out;
}

}  // namespace attnscope
