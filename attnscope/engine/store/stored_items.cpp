#include "attnscope/engine/store/stored_items.h"

#include <chrono>
#include <filesystem>
#include <utility>

#include "attnscope/base/content_hash.h"
#include "attnscope/base/error.h"
#include "attnscope/rows/lossless_json.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

std::string absolute_path(const fs::path& path) {
  std::error_code error;
  const fs::path canonical = fs::weakly_canonical(path, error);
  return error ? path.string() : canonical.string();
}

StoredFile stored_file(const MappedFile& file) {
  const FileState& state = file.state();
  return {.path = file.is_remote() ? file.path().string() : absolute_path(file.path()),
          .bytes = state.bytes,
          .modified_ns = state.modified_ns,
          .changed_ns = state.changed_ns};
}

std::int64_t now_ns() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since_1970).count();
}

/// Returns the hash of a tensor's bytes. A tensor with a source (computed from others) is hashed
/// with all that the source reads and its parameters.
std::string tensor_hash(const Checkpoint& checkpoint, const CheckpointTensor& tensor) {
  checkpoint.need(tensor);
  const auto parts = all_bytes(tensor.view);
  if (tensor.view.source == nullptr) return content_hash(parts.front());
  std::string text = storage_text(tensor.view) + tensor.view.source->parameters();
  for (const auto part : parts) text += ' ' + content_hash(part);
  return content_hash(text);
}

StoredTensor hash_tensor(const Checkpoint& checkpoint, const CheckpointTensor& tensor) {
  StoredTensor hashed{
      .file = stored_file(checkpoint.files()[tensor.file]), .name = tensor.name, .fresh = true};
  hashed.hashed_ns = now_ns();  // taken before the read, so that later changes are detected
  hashed.hash = tensor_hash(checkpoint, tensor);
  checkpoint.check_intact(tensor);
  return hashed;
}

/// Returns whether the identity of its file is enough to detect a change of the tensor. The path of
/// a remote file belongs to a commit, which never changes.
bool is_of_one_file(const Checkpoint& checkpoint, const CheckpointTensor& tensor) {
  if (checkpoint.is_in_memory()) return false;
  if (checkpoint.is_remote()) return true;
  return tensor.view.source == nullptr || checkpoint.files().size() == 1;
}

/// Returns the inputs of an item as text. `tensors`: those it reads, in order.
std::string inputs_text(const ItemInputs& inputs, std::span<const StoredTensor> tensors) {
  Record named = inputs.facts();
  Value::List matrices;
  for (std::size_t index = 0; index < tensors.size(); ++index) {
    Record matrix = {{"hash", tensors[index].hash}};
    for (const auto& [name, value] : inputs.reads()[index].geometry.fields()) {
      matrix.add(name, value);
    }
    matrices.emplace_back(std::move(matrix));
  }
  named.add("matrices", std::move(matrices));
  return record_text(named);
}

}  // namespace

StoredModel stored_model(const ModelSource& source) {
  const CheckpointFolder& folder = source.checkpoint->folder();
  const auto place_of = [&](const fs::path& file) {
    const bool is_elsewhere =
        folder.is_remote() && file.string().starts_with(folder.path().string());
    return is_elsewhere ? file.string() : absolute_path(file);
  };
  StoredModel stored{
      .path = place_of(source.checkpoint->main_file()), .name = source.name, .facts = source.facts};
  for (const MappedFile& file : source.checkpoint->files()) {
    stored.files.push_back(stored_file(file));
  }
  if (source.model == nullptr) return stored;
  stored.description = place_of(source.model->spec().source);
  stored.described = content_hash(source.model->spec().text);
  return stored;
}

/// Exclusive right to compute one item. Waits while another thread has it.
class StoredItems::Claim {
 public:
  Claim(StoredItems& items, const std::string& inputs) : items_(items), inputs_(inputs) {
    std::unique_lock lock(items_.mutex_);
    items_.released_.wait(lock, [&] { return items_.under_way_.insert(inputs_).second; });
  }
  ~Claim() {
    {
      const std::scoped_lock lock(items_.mutex_);
      items_.under_way_.erase(inputs_);
    }
    items_.released_.notify_all();
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

 private:
  StoredItems& items_;
  const std::string& inputs_;
};

StoredItems::StoredItems(Store& store, const StoredRun& run) : store_(store) { store_.begin(run); }

std::vector<Outcome> StoredItems::get(const ItemInputs& inputs, std::vector<StoredPlace> places,
                                      const std::function<std::vector<Outcome>()>& compute) {
  const std::vector<StoredTensor> tensors = tensors_of(inputs);
  const std::string text = inputs_text(inputs, tensors);
  for (StoredPlace& place : places) place.tensors = tensors;

  const Claim claim(*this, text);
  if (auto found = store_.find(text, places)) return *std::move(found);
  std::vector<Outcome> outcomes = compute();
  // Stored outcomes must belong to the bytes that were hashed.
  for (std::size_t index = 0; index < tensors.size(); ++index) {
    const ItemInputs::Read& read = inputs.reads()[index];
    read.checkpoint->check_intact(*read.tensor);
    if (tensors[index].is_settled() && is_of_one_file(*read.checkpoint, *read.tensor)) continue;
    if (tensor_hash(*read.checkpoint, *read.tensor) != tensors[index].hash) {
      throw Error(ErrorKind::io, read.checkpoint->files()[read.tensor->file].path().string(),
                  "the file was modified while it was read (is another program still writing "
                  "it?)");
    }
  }
  store_.save(text, outcomes, places);
  return outcomes;
}

std::string StoredItems::hash_of(const ItemInputs& inputs) {
  return content_hash(inputs_text(inputs, tensors_of(inputs)));
}

std::vector<StoredTensor> StoredItems::tensors_of(const ItemInputs& inputs) {
  std::vector<StoredTensor> tensors;
  for (const ItemInputs::Read& read : inputs.reads()) tensors.push_back(tensor_of(read));
  return tensors;
}

bool StoredItems::holds(const ItemInputs& inputs) {
  std::vector<StoredTensor> tensors;
  for (const ItemInputs::Read& read : inputs.reads()) {
    auto known = known_tensor(read);
    if (!known) return false;
    tensors.push_back(*std::move(known));
  }
  return store_.find(inputs_text(inputs, tensors), {}).has_value();
}

std::optional<StoredTensor> StoredItems::known_tensor(const ItemInputs::Read& read) {
  if (!is_of_one_file(*read.checkpoint, *read.tensor)) return std::nullopt;
  const MappedFile& file = read.checkpoint->files()[read.tensor->file];
  return store_.known_tensor(stored_file(file), read.tensor->name);
}

StoredTensor StoredItems::tensor_of(const ItemInputs::Read& read) {
  std::promise<StoredTensor> promise;
  std::shared_future<StoredTensor> result;
  {
    const std::scoped_lock lock(mutex_);
    const auto [known, first] = tensors_.try_emplace(read.tensor);
    if (!first) {
      result = known->second;
    } else {
      known->second = promise.get_future().share();
    }
  }
  if (result.valid()) return result.get();
  try {
    auto known = known_tensor(read);
    StoredTensor tensor = known ? *std::move(known) : hash_tensor(*read.checkpoint, *read.tensor);
    promise.set_value(tensor);
    return tensor;
  } catch (...) {
    promise.set_exception(std::current_exception());
    throw;
  }
}

}  // namespace attnscope
