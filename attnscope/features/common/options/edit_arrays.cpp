#include "attnscope/features/common/options/edit_arrays.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/model/model.h"
#include "attnscope/tensor/decode.h"

namespace attnscope {
namespace {

constexpr std::int64_t kMaxNumbers = std::int64_t{1} << 28;  // of one edit

/// The arrays of a file that one edit reads.
class ArrayFile {
 public:
  ArrayFile(const ActivationEdit& edit, const std::string& path) : edit_(edit), path_(path) {
    if (std::filesystem::path(path).extension() != ".safetensors") {
      refuse("is not a .safetensors file", "predict with {activations} and {save} writes one");
    }
    try {
      file_.emplace(Checkpoint::open(std::filesystem::path(path)));
    } catch (const Error& error) {
      ErrorParts parts = error.parts();
      parts.place = edit.where + (parts.place.empty() ? "" : ", " + parts.place);
      if (error.kind() == ErrorKind::io) parts.hint.clear();  // about models
      throw Error(error.kind(), std::move(parts));
    }
  }

  [[noreturn]] void refuse(const std::string& problem, const std::string& hint = "") const {
    throw Error(ErrorKind::format,
                {.file = path_, .place = edit_.where, .problem = verbatim(problem), .hint = hint});
  }

  bool has(const std::string& name) const { return file_->find(name) != nullptr; }

  /// The array with this name. Throws Error(format) if there is none, or if it has no numbers that
  /// can be read.
  const CheckpointTensor& find(const std::string& name) const {
    const CheckpointTensor* found = file_->find(name);
    if (found == nullptr) {
      std::vector<std::string> names;
      constexpr std::size_t kShown = 8;
      for (const CheckpointTensor& tensor : file_->tensors()) {
        if (names.size() == kShown) names.emplace_back("...");
        if (names.size() > kShown) break;
        names.push_back(tensor.name);
      }
      refuse("has no array '" + name + "'", verbatim("it has " + join(names, ", ")));
    }
    const DTypeInfo& type = dtype_info(found->view.dtype);
    if (type.kind != DTypeClass::real) {
      refuse("the array '" + name + "' has elements of type " + std::string(type.name),
             "expected float32, float16, bfloat16 or float64");
    }
    if (found->view.element_count() == 0) refuse("the array '" + name + "' is empty");
    return *found;
  }

  /// Elements [first, first + count) of an array.
  std::vector<float> numbers(const CheckpointTensor& tensor, std::int64_t first,
                             std::int64_t count) const {
    if (count > kMaxNumbers) {
      refuse("the array '" + tensor.name + "' has more than " + std::to_string(kMaxNumbers) +
             " numbers");
    }
    file_->need(tensor);
    std::vector<float> out(static_cast<std::size_t>(count));
    decode_elements(tensor.view, first, 1, count, out.data());
    file_->check_intact(tensor);
    return out;
  }

  /// A list of int64, such as z.layers.
  std::vector<std::int64_t> integers(const std::string& name) const {
    const CheckpointTensor& tensor = *file_->find(name);
    if (tensor.view.dtype != DType::i64 || tensor.view.shape.size() != 1) {
      refuse("'" + name + "' is not a list of int64");
    }
    file_->need(tensor);
    std::vector<std::int64_t> out(static_cast<std::size_t>(tensor.view.element_count()));
    if (!out.empty()) std::memcpy(out.data(), tensor.view.bytes.data(), tensor.view.bytes.size());
    file_->check_intact(tensor);
    return out;
  }

 private:
  const ActivationEdit& edit_;
  const std::string& path_;
  std::optional<Checkpoint> file_;
};

/// Whether the array is that of a saved run: "z", or "z.1".
bool is_of_run(const std::string& array, const std::string& name) {
  if (!array.starts_with(name)) return false;
  const std::string rest = array.substr(name.size());
  return rest.empty() || (rest.size() > 1 && rest.front() == '.' &&
                          std::all_of(rest.begin() + 1, rest.end(),
                                      [](char letter) { return letter >= '0' && letter <= '9'; }));
}

/// The activation of one layer without axes that edits do not have: a selected expert is a part of
/// the columns.
Shape shape_of_layer(const ActivationEdit& edit, const Shape& whole) {
  Shape shape(whole.begin() + (is_of_model(edit.point) ? 0 : 1), whole.end());
  if (edit.point == HookPoint::expert_out && shape.size() == 3) {
    return {shape[0], shape[1] * shape[2]};
  }
  return shape;
}

std::vector<ActivationEdit> edits_from_saved_run(const RunEdit& wanted, const ArrayFile& file,
                                                 const CheckpointTensor& tensor) {
  const std::string name(hook_name(wanted.edit.point));
  const std::string text = tensor.name.substr(name.size());  // ".1", of several texts
  if (file.has("positions" + text)) {
    file.refuse("the run kept only some positions", "save it without {positions}");
  }
  if (file.has(name + ".heads")) {
    file.refuse("the run kept only some heads", "save it without {heads}");
  }
  const Shape& whole = tensor.view.shape;
  const Shape shape = shape_of_layer(wanted.edit, whole);
  const bool is_valid = is_map(wanted.edit.point)        ? shape.size() == 3
                        : is_of_model(wanted.edit.point) ? shape.size() == 2
                                                         : shape.size() == 2 || shape.size() == 3;
  if (!is_valid) {
    file.refuse("the array '" + tensor.name + "' has " + counted(whole.size(), "axis", "axes") +
                ", which those of '" + name + "' do not have");
  }
  const std::int64_t count =
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<std::int64_t>());
  if (is_of_model(wanted.edit.point)) {
    return {edit_from(wanted, 0, {.shape = shape, .numbers = file.numbers(tensor, 0, count)})};
  }
  std::vector<std::int64_t> layers(static_cast<std::size_t>(whole.front()));
  std::iota(layers.begin(), layers.end(), std::int64_t{0});
  if (file.has(name + ".layers")) layers = file.integers(name + ".layers");
  if (std::ssize(layers) != whole.front()) {
    file.refuse("'" + name + ".layers' lists " + counted(layers.size(), "layer") + ", but '" +
                tensor.name + "' has " + std::to_string(whole.front()));
  }
  std::vector<ActivationEdit> edits;
  std::int64_t all = 0;
  for (const std::int64_t layer : wanted.edit.layers.empty() ? layers : wanted.edit.layers) {
    const auto found = std::find(layers.begin(), layers.end(), layer);
    if (found == layers.end()) {
      file.refuse("the run has no '" + name + "' of layer " + std::to_string(layer));
    }
    all += count;
    if (all > kMaxNumbers) {
      file.refuse("the edit takes more than " + std::to_string(kMaxNumbers) + " numbers",
                  "select fewer layers");
    }
    const std::int64_t first = (found - layers.begin()) * count;
    edits.push_back(
        edit_from(wanted, layer, {.shape = shape, .numbers = file.numbers(tensor, first, count)}));
  }
  return edits;
}

}  // namespace

std::vector<ActivationEdit> edits_from_file(const RunEdit& wanted, const std::string& path,
                                            const std::string& array) {
  const std::string name(hook_name(wanted.edit.point));
  const ArrayFile file(wanted.edit, path);
  const CheckpointTensor& tensor = file.find(array.empty() ? name : array);
  if (is_of_run(tensor.name, name)) return edits_from_saved_run(wanted, file, tensor);
  if (!wanted.from_positions.empty()) {
    file.refuse("from_positions requires an array of a saved run, named '" + name + "'");
  }
  ActivationEdit edit = wanted.edit;
  edit.how = EditHow::set;
  edit.value = {.shape = tensor.view.shape,
                .numbers = file.numbers(tensor, 0, tensor.view.element_count())};
  return {std::move(edit)};
}

}  // namespace attnscope
