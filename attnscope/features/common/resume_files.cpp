#include "attnscope/features/common/resume_files.h"

#include <system_error>
#include <utility>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/base/new_folder.h"
#include "attnscope/checkpoint/safetensors.h"
#include "attnscope/tensor/safetensors_writer.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUnfinished = ".tmp";

}  // namespace

ResumeFiles::ResumeFiles(const fs::path& made, const std::string& ending, std::string key)
    : folder_(hidden_file_next_to(made, ending)), key_(std::move(key)) {
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, failed)) {
    const bool own = entry.path().filename().string().starts_with(key_);
    if (!own || entry.path().extension() == kUnfinished) fs::remove_all(entry.path(), failed);
  }
}

fs::path ResumeFiles::path_of(const std::string& name) const {
  return folder_ / (key_ + "-" + name + ".safetensors");
}

void ResumeFiles::write(const std::string& name,
                        const std::function<void(std::ostream&)>& write) const {
  const fs::path path = path_of(name);
  fs::path unfinished = path;
  unfinished += kUnfinished;
  std::error_code failed;
  fs::create_directories(folder_, failed);
  if (failed) fail_writing(folder_, failed.message());
  try {
    write_new_file(unfinished, unfinished, write);
  } catch (...) {
    fs::remove(unfinished, failed);  // the unfinished file may have filled the disk
    throw;
  }
  fs::rename(unfinished, path, failed);
  if (failed) fail_writing(path, failed.message());
}

void ResumeFiles::remove() const {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

namespace {

namespace fs = std::filesystem;

bool is_same(const TensorView& a, const TensorView& b) {
  return a.bytes.data() == b.bytes.data() && a.bytes.size() == b.bytes.size() &&
         a.source == b.source;
}

}  // namespace

std::string FinishedLayers::name_of(std::int64_t layer) const {
  return std::to_string(stage_) + "-" + std::to_string(layer);
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
  const fs::path path = files_.path_of(name_of(layer));
  if (!fs::exists(path, failed)) return false;
  try {
    const MappedFile file(path);
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
    return false;  // unreadable, e.g. on a failing disk: the layer is recomputed
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
  files_.write(name_of(layer), [&](std::ostream& out) {
    SafetensorsWriter file(tensors, out);
    for (const SavedTensor& tensor : tensors) {
      file.write(tensor.type, changed.tensors().at(tensor.name).bytes);
      if (!out) return;  // write_new_file() reports the error
    }
    file.end();
  });
}

}  // namespace attnscope
