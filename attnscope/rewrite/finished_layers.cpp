#include "attnscope/rewrite/finished_layers.h"

#include <system_error>
#include <utility>
#include <vector>

#include "attnscope/checkpoint/safetensors.h"
#include "attnscope/core/error.h"
#include "attnscope/tensor/safetensors_writer.h"

namespace attnscope {
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
  files_.write(name_of(layer), [&](std::ostream& out) {
    SafetensorsWriter file(tensors, out);
    for (const SavedTensor& tensor : tensors) {
      file.write(tensor.type, changed.tensors().at(tensor.name).bytes);
      if (!out) return;  // write_new_file() says why
    }
    file.end();
  });
}

}  // namespace attnscope
