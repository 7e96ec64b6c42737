#include "attnscope/pipeline/stored_items.h"

#include <chrono>
#include <filesystem>
#include <utility>

#include "attnscope/core/error.h"
#include "attnscope/store/content_hash.h"
#include "attnscope/store/record_text.h"

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
  return {.path = absolute_path(file.path()),
          .bytes = state.bytes,
          .modified_ns = state.modified_ns,
          .changed_ns = state.changed_ns};
}

std::int64_t now_ns() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since_1970).count();
}

StoredTensor hash_tensor(const MappedFile& file, const CheckpointTensor& tensor) {
  StoredTensor hashed{.file = stored_file(file), .name = tensor.name, .fresh = true};
  hashed.hashed_ns = now_ns();  // before it is read: a later change is a later change
  hashed.hash = content_hash(tensor.view.bytes);
  file.check_intact();
  return hashed;
}

}  // namespace

ItemInputs& ItemInputs::add(std::string name, Value value) {
  facts_.add(std::move(name), std::move(value));
  return *this;
}

ItemInputs& ItemInputs::add_matrix(const Checkpoint& checkpoint, const CheckpointTensor& tensor,
                                   const TensorMatrix& matrix) {
  reads_.push_back({&checkpoint,
                    &tensor,
                    {{"dtype", dtype_info(tensor.view.dtype).name},
                     {"rows", matrix.rows},
                     {"cols", matrix.cols},
                     {"first", matrix.first},
                     {"row_stride", matrix.row_stride},
                     {"col_stride", matrix.col_stride},
                     {"block_rows", matrix.block_rows},
                     {"block_stride", matrix.block_stride},
                     {"not_analysed", why_not_analysed(checkpoint, tensor)}}});
  return *this;
}

ItemInputs& ItemInputs::add_shape(const Model& model) {
  const HeadShape& shape = model.dimensions().heads;
  return add("heads", shape.heads)
      .add("kv_heads", shape.kv_heads)
      .add("head_dim", shape.head_dim)
      .add("value_dim", shape.value_dim)
      .add("width", model.dimensions().width);
}

StoredModel stored_model(const Model& model, Record facts) {
  StoredModel stored = stored_checkpoint(model.checkpoint(), model.name(), std::move(facts));
  stored.description = absolute_path(model.spec().source);
  stored.described = content_hash(MappedFile(model.spec().source).bytes());
  return stored;
}

StoredModel stored_checkpoint(const Checkpoint& checkpoint, std::string name, Record facts) {
  StoredModel stored{.path = absolute_path(checkpoint.main_file()),
                     .name = std::move(name),
                     .facts = std::move(facts)};
  for (const MappedFile& file : checkpoint.files()) stored.files.push_back(stored_file(file));
  return stored;
}

/// The right to work on one item, waited for while another thread has it.
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
  Record named = inputs.facts_;
  Value::List matrices;
  std::vector<StoredTensor> tensors;
  for (const ItemInputs::Read& read : inputs.reads_) {
    tensors.push_back(tensor_of(read));
    Record matrix = {{"hash", tensors.back().hash}};
    for (const auto& [name, value] : read.geometry.fields()) matrix.add(name, value);
    matrices.emplace_back(std::move(matrix));
  }
  named.add("matrices", std::move(matrices));
  const std::string text = record_text(named);
  for (StoredPlace& place : places) place.tensors = tensors;

  const Claim claim(*this, text);
  if (auto found = store_.find(text, places)) return *std::move(found);
  std::vector<Outcome> outcomes = compute();
  // What is kept must be of the bytes that were hashed.
  for (std::size_t index = 0; index < tensors.size(); ++index) {
    const ItemInputs::Read& read = inputs.reads_[index];
    const MappedFile& file = read.checkpoint->files()[read.tensor->file];
    file.check_intact();
    if (tensors[index].is_settled()) continue;
    if (content_hash(read.tensor->view.bytes) != tensors[index].hash) {
      throw Error(ErrorKind::io, file.path().string(),
                  "the file was written to while it was read (is it still being written?)");
    }
  }
  store_.save(text, outcomes, places);
  return outcomes;
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
    const MappedFile& file = read.checkpoint->files()[read.tensor->file];
    auto known = store_.known_tensor(stored_file(file), read.tensor->name);
    StoredTensor tensor = known ? *std::move(known) : hash_tensor(file, *read.tensor);
    promise.set_value(tensor);
    return tensor;
  } catch (...) {
    promise.set_exception(std::current_exception());
    throw;
  }
}

}  // namespace attnscope
