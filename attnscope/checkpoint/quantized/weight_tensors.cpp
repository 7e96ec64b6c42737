#include "attnscope/checkpoint/quantized/weight_tensors.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"

namespace attnscope {
namespace {

std::string names_of(std::initializer_list<DType> dtypes) {
  std::string names;
  for (const DType dtype : dtypes) {
    names += (names.empty() ? "" : " or ") + std::string(dtype_name(dtype));
  }
  return names;
}

}  // namespace

bool WeightParts::has_all(const CheckpointTensor& main, std::initializer_list<std::string> names) {
  for (const std::string& name : names) {
    if (find(name) != nullptr) continue;
    if (!is_elsewhere(name)) refuse(main, "has no matching '" + name + "' in the checkpoint");
    leave_out(main);
    return false;
  }
  return true;
}

bool WeightParts::is_elsewhere(const std::string& name) const {
  return !checkpoint_.missing_note(name).empty();
}

void WeightParts::check_dtype(const CheckpointTensor& tensor,
                              std::initializer_list<DType> dtypes) const {
  const bool plain = tensor.view.source == nullptr && tensor.view.strides.empty();
  if (plain && std::find(dtypes.begin(), dtypes.end(), tensor.view.dtype) != dtypes.end()) return;
  refuse(tensor, "dtype " + std::string(tensor.view.storage_name()) + ", expected " +
                     names_of(dtypes) + " for this tensor");
}

void WeightParts::check_axes(const CheckpointTensor& tensor, std::size_t axes) const {
  const Shape& shape = tensor.view.shape;
  if (shape.size() == axes && tensor.view.element_count() > 0) return;
  refuse(tensor, "shape " + shape_text(shape) + ", expected " + counted(axes, "axis", "axes") +
                     " with elements");
}

void WeightParts::check(const CheckpointTensor& tensor, std::initializer_list<DType> dtypes,
                        const Shape& shape) const {
  check_dtype(tensor, dtypes);
  if (tensor.view.shape == shape) return;
  refuse(tensor, "shape " + shape_text(tensor.view.shape) + ", expected " + shape_text(shape) +
                     " (from the weight's other tensors)");
}

std::span<const std::byte> WeightParts::bytes(const CheckpointTensor& tensor) const {
  checkpoint_.need(tensor);
  return tensor.view.bytes;
}

void WeightParts::refuse(const CheckpointTensor& tensor, const std::string& problem) const {
  checkpoint_.check_intact(tensor);  // truncation can cause this error, so it is reported first
  throw Error(ErrorKind::format, checkpoint_.parts_of(tensor, verbatim(problem)));
}

void WeightParts::refuse_unread(const CheckpointTensor& tensor, const std::string& problem) const {
  throw Error(ErrorKind::unsupported,
              checkpoint_.parts_of(tensor, verbatim(problem) + " is not supported"));
}

void WeightParts::refuse_config(const std::string& problem) const {
  throw Error(ErrorKind::format,
              {.file = config_file_, .place = "quantization_config", .problem = verbatim(problem)});
}

std::optional<std::int64_t> WeightParts::number(std::string_view key) const {
  const auto found = config_.find(key);
  if (found == config_.end() || found->is_null()) return std::nullopt;
  constexpr std::int64_t kMax = 1'000'000'000;
  if (!found->is_number_integer() || *found < -1 || *found > kMax) {
    refuse_config("'" + std::string(key) + "' is not a size");
  }
  return found->get<std::int64_t>();
}

std::string WeightParts::text(std::string_view key) const {
  const auto found = config_.find(key);
  if (found == config_.end() || found->is_null()) return "";
  if (!found->is_string()) refuse_config("'" + std::string(key) + "' is not a string");
  return found->get<std::string>();
}

void WeightParts::add(ComposedWeight weight, std::initializer_list<const CheckpointTensor*> parts) {
  const CheckpointTensor* place = *parts.begin();
  if (place->name != weight.name && find(weight.name) != nullptr) {
    refuse(*place, "'" + weight.name + "' also exists");
  }
  TensorView view{.dtype = weight.dtype,
                  .shape = std::move(weight.shape),
                  .source = std::move(weight.source),
                  .stored_as = std::move(weight.stored_as)};
  added_.push_back({place,
                    {.name = std::move(weight.name),
                     .view = std::move(view),
                     .file = place->file,
                     .is_linear = weight.is_linear}});
  for (const CheckpointTensor* part : parts) {
    if (part != nullptr) taken_.insert(part);
  }
}

std::vector<CheckpointTensor> WeightParts::take() && {
  std::map<const CheckpointTensor*, CheckpointTensor*> added;
  for (Added& weight : added_) added.emplace(weight.place, &weight.tensor);
  std::vector<CheckpointTensor> out;
  for (const CheckpointTensor& tensor : tensors()) {
    const auto weight = added.find(&tensor);
    if (weight != added.end()) {
      out.push_back(std::move(*weight->second));
    } else if (!taken_.contains(&tensor)) {
      out.push_back(tensor);
    }
  }
  return out;
}

std::optional<std::string> without_ending(std::string_view name, std::string_view ending) {
  if (!name.ends_with(ending)) return std::nullopt;
  return std::string(name.substr(0, name.size() - ending.size()));
}

}  // namespace attnscope
