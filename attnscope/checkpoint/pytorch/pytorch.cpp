#include "attnscope/checkpoint/pytorch/pytorch.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/pytorch/archive.h"
#include "attnscope/checkpoint/pytorch/legacy_format.h"
#include "attnscope/checkpoint/pytorch/pickled_tensor.h"
#include "attnscope/checkpoint/pytorch/state_dict.h"
#include "attnscope/checkpoint/pytorch/storages.h"

namespace attnscope {
namespace {

constexpr std::string_view kZipStart("PK\3\4", 4), kTarMark = "ustar";
constexpr std::size_t kTarMarkPlace = 257;
constexpr std::uint64_t kUnpackedAnyway = std::uint64_t{1} << 30;
constexpr std::uint64_t kUnpackedOfEachByte = 8;

std::string_view bytes_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool is_tar(std::span<const std::byte> start) {
  return start.size() >= kTarMarkPlace + kTarMark.size() &&
         bytes_text(start.subspan(kTarMarkPlace)).starts_with(kTarMark);
}

/// The limit for all memory that a checkpoint unpacks. Weights compress only slightly, so a larger
/// size indicates a malicious file.
std::uint64_t most_unpacked_bytes(std::size_t file_bytes) {
  return kUnpackedAnyway + kUnpackedOfEachByte * file_bytes;
}

/// Adds tensors in the order of their bytes. Tensors with the same bytes become aliases.
void add_tensors(FileContents& contents, const Pickle& pickle, Storages& storages,
                 const std::string& file) {
  using Identity = std::tuple<const std::byte*, DType, Shape, Shape>;
  std::map<Identity, std::string> known;
  for (const PickledName& named : find_state_dict(pickle, {file})) {
    const FileLocation where = {file, "tensor '" + named.name + "'"};
    const PickledTensor tensor = describe_tensor(pickle, named.tensor, where);
    if (!tensor.skipped.empty()) {
      contents.notes.push_back(
          verbatim("tensor '" + named.name + "' is skipped: " + tensor.skipped));
      continue;
    }
    TensorView view = storages.view(tensor, where);
    if (!view.bytes.empty()) {
      const auto [first, fresh] = known.emplace(
          Identity{view.bytes.data(), view.dtype, view.shape, view.strides}, named.name);
      if (!fresh) {
        contents.metadata.emplace(named.name, first->second);
        continue;
      }
    }
    contents.tensors.push_back({named.name, std::move(view)});
  }
  std::stable_sort(contents.tensors.begin(), contents.tensors.end(),
                   [](const NamedTensor& a, const NamedTensor& b) {
                     return std::less<>()(a.view.bytes.data(), b.view.bytes.data());
                   });
  contents.memory = storages.memory();
}

FileContents contents_of(const Pickle& pickle, Storages storages, const std::string& file) {
  FileContents contents{.config = config_of_hparams(pickle), .settings = settings_of(pickle)};
  add_tensors(contents, pickle, storages, file);
  return contents;
}

FileContents parse_archive(std::span<const std::byte> bytes, const std::string& file,
                           const NeedBytes& need) {
  Archive archive(bytes, file, need);
  const Pickle pickle = archive.pickle();
  const auto find = [&](const PickledStorage& storage) { return archive.storage(storage.key); };
  return contents_of(
      pickle, Storages(find, archive.is_big_endian(), most_unpacked_bytes(bytes.size()), need),
      file);
}

FileContents parse_stream(std::span<const std::byte> bytes, const std::string& file,
                          const NeedBytes& need) {
  const LegacyStream stream = read_legacy_stream(bytes, file, need);
  const auto find = [&](const PickledStorage& storage) {
    const auto found = stream.storages.find(storage.key);
    if (found == stream.storages.end()) {
      refuse({file},
             "contains no storage '" + verbatim(storage.key) + "', which a tensor requires");
    }
    return found->second;
  };
  return contents_of(stream.pickle,
                     Storages(find, stream.big_endian, most_unpacked_bytes(bytes.size()), need),
                     file);
}

}  // namespace

bool is_pytorch(std::span<const std::byte> start) {
  return bytes_text(start).starts_with(kZipStart) || starts_legacy_stream(start) || is_tar(start);
}

FileContents parse_pytorch(std::span<const std::byte> bytes, std::string_view name,
                           const NeedBytes& need) {
  const std::string file(name);
  const auto start = bytes.first(std::min<std::size_t>(bytes.size(), 512));
  if (need) need(start);
  if (bytes_text(start).starts_with(kZipStart)) return parse_archive(bytes, file, need);
  if (starts_legacy_stream(start)) return parse_stream(bytes, file, need);
  if (is_tar(start)) {
    throw Error(ErrorKind::unsupported,
                {.file = file,
                 .problem = "is a tar file of torch 0.1, which is not supported",
                 .hint = "load and save it again with a newer torch"});
  }
  refuse({file}, "is not a file of torch.save, expected a zip archive or the older stream");
}

FileContents read_pytorch(const MappedFile& file, std::string_view name) {
  return parse_pytorch(file.bytes(), name,
                       [&](std::span<const std::byte> part) { file.need(part); });
}

namespace {

using nlohmann::json;

constexpr int kMaxHparamsDepth = 16;
constexpr std::size_t kMaxValues = 100'000, kMaxText = 1000;

/// Whether the value is the options of a program that uses argparse.
bool is_namespace(const Pickle& pickle, PickleRef value) {
  const PickleRef callee = pickle.at(value).callee;
  return callee != kNoPickleRef && pickle.at(callee).text == "argparse.Namespace";
}

/// Decrements `left`, so that values that are part of many others cannot make the text endless.
json as_json(const Pickle& pickle, PickleRef value, int depth, std::size_t& left) {
  const PickleNode& node = pickle.at(value);
  if (depth == kMaxHparamsDepth || left == 0) return nullptr;
  --left;
  switch (node.kind) {
    case PickleKind::boolean: return node.integer != 0;
    case PickleKind::integer: return node.integer;
    case PickleKind::real: return std::isfinite(node.real) ? json(node.real) : json(nullptr);
    case PickleKind::text:
      if (node.text.size() > kMaxText || first_broken_utf8(node.text)) return nullptr;
      return std::string(node.text);
    case PickleKind::tuple:
    case PickleKind::list: {
      json out = json::array();
      for (const PickleRef item : node.items) {
        if (left == 0) break;
        out.push_back(as_json(pickle, item, depth + 1, left));
      }
      return out;
    }
    case PickleKind::dict: {
      json out = json::object();
      for (std::size_t item = 0; item + 1 < node.items.size() && left > 0; item += 2) {
        const json key = as_json(pickle, node.items[item], depth + 1, left);
        if (!key.is_string()) continue;
        out[key.get<std::string>()] = as_json(pickle, node.items[item + 1], depth + 1, left);
      }
      return out;
    }
    case PickleKind::object:
      if (!is_namespace(pickle, value) || node.state == kNoPickleRef) return nullptr;
      return as_json(pickle, node.state, depth + 1, left);
    default: return nullptr;
  }
}

}  // namespace

std::string settings_of(const Pickle& pickle) {
  json settings = json::object();
  std::size_t left = kMaxValues;
  for (const char* key : {"model_args", "dims", "args", "cfg"}) {
    const PickleRef value = find_item(pickle, pickle.root, key);
    if (value == kNoPickleRef) continue;
    json saved = as_json(pickle, value, 0, left);
    if (saved.is_object()) settings[key] = std::move(saved);
  }
  return settings.empty() ? "" : settings.dump();
}

std::optional<std::string> config_of_hparams(const Pickle& pickle) {
  const PickleRef hparams = find_item(pickle, pickle.root, "hparams");
  if (hparams == kNoPickleRef || pickle.at(hparams).kind != PickleKind::dict) return std::nullopt;
  std::size_t left = kMaxValues;
  json config = as_json(pickle, hparams, 0, left);
  const auto named = config.find("model_class");
  if (named == config.end() || !named->is_string()) return std::nullopt;
  const auto whole = named->get<std::string>();
  config["architectures"] = json::array({whole.substr(whole.rfind('.') + 1)});
  return config.dump(1);
}

}  // namespace attnscope
