#include "attnscope/rewrite/finished_layers.h"

#include <system_error>
#include <utility>
#include <vector>

#include "attnscope/checkpoint/safetensors.h"
#include "attnscope/core/error.h"
#include "attnscope/rewrite/new_folder.h"
#include "attnscope/tensor/safetensors_writer.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUnfinished = ".tmp";

bool is_same(const TensorView& a, const TensorView& b) {
  return a.bytes.data() == b.bytes.data() && a.bytes.size() == b.bytes.size() &&
         a.source == b.source;
}

}  // namespace

FinishedLayers::FinishedLayers(const fs::path& folder, std::string key)
    : folder_(hidden_beside(folder, "attnscope-layers")), key_(std::move(key)) {
  std::error_code failed;
  fs::create_directories(folder_, failed);
  if (failed) fail_writing(folder_, failed.message());
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
    const bool own = entry.path().filename().string().starts_with(key_);
    if (!own || entry.path().extension() == kUnfinished) fs::remove_all(entry.path(), failed);
  }
}

fs::path FinishedLayers::file_of(std::int64_t layer) const {
  return folder_ /
         (key_ + "-" + std::to_string(stage_) + "-" + std::to_string(layer) + ".safetensors");
}

void FinishedLayers::put(ChangedModel& changed, std::int64_t layer,
                         const std::function<void()>& make) {
  if (take(changed, layer)) {
    ++taken_;
    return;
  }
  const std::map<std::string, TensorView> before = changed.tensors();
  make();
  keep(before, changed, layer);
}

bool FinishedLayers::take(ChangedModel& changed, std::int64_t layer) const {
  std::error_code failed;
  if (!fs::exists(file_of(layer), failed)) return false;
  try {
    const MappedFile file(file_of(layer));
    const FileContents contents = read_safetensors(file, file.path().string());
    for (const NamedTensor& tensor : contents.tensors) {
      if (tensor.view.dtype != changed.dtype()) return false;
    }
    for (const NamedTensor& tensor : contents.tensors) {
      const auto bytes = tensor.view.bytes;
      changed.put(tensor.name, tensor.view.shape,
                  std::vector<std::byte>(bytes.begin(), bytes.end()));
    }
    file.check_intact();
    return true;
  } catch (const Error&) {
    return false;  // as a failing disk leaves it: the layer is made anew
  }
}

void FinishedLayers::keep(const std::map<std::string, TensorView>& before,
                          const ChangedModel& changed, std::int64_t layer) const {
  std::vector<SavedTensor> tensors;
  for (const auto& [name, view] : changed.tensors()) {
    const auto old = before.find(name);
    if (old != before.end() && is_same(old->second, view)) continue;
    tensors.push_back({name, view.dtype, view.shape});
  }
  const fs::path path = file_of(layer);
  fs::path unfinished = path;
  unfinished += kUnfinished;
  write_new_file(unfinished, unfinished, [&](std::ostream& out) {
    SafetensorsWriter file(tensors, out);
    for (const SavedTensor& tensor : tensors) {
      file.write(tensor.type, changed.tensors().at(tensor.name).bytes);
      if (!out) return;  // write_new_file() says why
    }
    file.end();
  });
  std::error_code failed;
  fs::rename(unfinished, path, failed);
  if (failed) fail_writing(path, failed.message());
}

void FinishedLayers::remove() const {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace attnscope
