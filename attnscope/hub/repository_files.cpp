#include "attnscope/hub/repository_files.h"

#include <algorithm>

#include "attnscope/base/error.h"
#include "attnscope/checkpoint/model_folder.h"
#include "attnscope/checkpoint/weight_files.h"

namespace attnscope {
namespace {

/// All that the weights consist of, but for what an index names.
std::vector<std::string> parts_of(const std::string& weights) {
  for (const FileFormat& format : file_formats()) {
    const bool fits =
        std::any_of(format.endings.begin(), format.endings.end(),
                    [&](std::string_view ending) { return weights.ends_with(ending); });
    if (!fits || format.parts == nullptr) continue;
    std::vector<std::string> parts;
    for (const auto& part : format.parts(weights)) parts.push_back(part.string());
    return parts;
  }
  return {weights};
}

}  // namespace

ModelFiles model_files(const HubModelId& id, std::span<const HubFile> files) {
  ModelFiles out;
  const bool is_file = std::any_of(files.begin(), files.end(),
                                   [&](const HubFile& file) { return file.path == id.part; });
  if (is_file) {
    const std::size_t slash = id.part.rfind('/');
    out.folder = slash == id.part.npos ? "" : id.part.substr(0, slash + 1);
    out.weights = id.part.substr(out.folder.size());
  } else if (!id.part.empty()) {
    out.folder = id.part + "/";
  }
  std::vector<RemoteFile> names;
  for (const HubFile& file : files) {
    if (!file.path.starts_with(out.folder)) continue;
    std::string name = file.path.substr(out.folder.size());
    if (name.find('/') == name.npos) names.push_back({.name = std::move(name)});
  }
  if (names.empty() && !id.part.empty()) {
    throw Error(ErrorKind::io, id.text(), "the repository has no such file or folder");
  }
  const CheckpointFolder folder(id.text(), std::move(names));
  if (out.weights.empty()) out.weights = find_weights(folder);
  for (const std::string_view companion : companion_files()) {
    std::string name(companion);
    (folder.has(name) ? out.needed : out.absent).push_back(std::move(name));
  }
  if (is_index(out.weights)) {
    out.needed.push_back(out.weights);
    return out;
  }
  for (std::string& part : parts_of(out.weights)) out.needed.push_back(std::move(part));
  return out;
}

}  // namespace attnscope
