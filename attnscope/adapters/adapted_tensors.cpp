#include "attnscope/adapters/adapted_tensors.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "attnscope/adapters/adapter_names.h"
#include "attnscope/adapters/adapter_parts.h"
#include "attnscope/adapters/complete_adapter.h"
#include "attnscope/adapters/expert_modules.h"
#include "attnscope/adapters/module_changes.h"
#include "attnscope/base/content_hash.h"
#include "attnscope/base/error.h"
#include "attnscope/base/text.h"

namespace attnscope {
namespace {

constexpr std::string_view kWeightOf = ".weight", kBiasOf = ".bias";

class AdapterMerger {
 public:
  AdapterMerger(std::span<const Model> stacks, const Checkpoint& files, const AdapterConfig& config)
      : base_(stacks),
        files_(files),
        config_(config),
        parts_(read_adapter_parts(files, config)),
        changes_(files, config, parts_),
        parameters_(content_hash(config.text)) {}

  AdaptedTensors merge() {
    for (const auto& [target, tensor] : parts_.whole) replace(target, *tensor);
    draw_projections();
    for (const auto& [module, tensors] : parts_.modules) change(module, tensors);
    for (const auto& [target, tensor] : parts_.token_rows) replace_rows(target, *tensor);
    check_complete(base_, files_, config_, parts_, adapted_);
    for (const auto& [own, matrix] : merged_) put_merged(*own, matrix);
    AdaptedTensors out{.tensors = {}, .memory = changes_.memory(), .unties_head = unties_};
    for (const CheckpointTensor& own : base_.checkpoint().tensors()) {
      const auto changed = changed_.find(own.name);
      out.tensors.push_back(changed == changed_.end() ? own : changed->second);
      if (changed != changed_.end()) changed_.erase(changed);
    }
    for (auto& [name, added] : changed_) out.tensors.push_back(std::move(added));
    return out;
  }

 private:
  [[noreturn]] void refuse(const CheckpointTensor& tensor, const std::string& problem) const {
    throw Error(ErrorKind::format, files_.parts_of(tensor, verbatim(problem)));
  }

  [[noreturn]] void refuse_unknown(const CheckpointTensor& tensor, const std::string& name) const {
    refuse(tensor, "changes '" + name + "', which the base does not have");
  }

  void expect_shape(const CheckpointTensor& tensor, const Shape& own) const {
    if (tensor.view.shape == own) return;
    refuse(tensor,
           "has shape " + shape_text(tensor.view.shape) + ", but the base has " + shape_text(own));
  }

  void put(const std::string& name, const CheckpointTensor& tensor) {
    CheckpointTensor& own = changed_[name];
    own = tensor;
    own.name = name;
    own.file += base_.checkpoint().files().size();
    own.is_linear = false;
  }

  /// The shape of a base's tensor as transformers stores it.
  Shape usual_shape(const CheckpointTensor& own) const {
    const LinearModule* module = base_.linear(own);
    if (module == nullptr || !module->is_conv1d || !own.is_linear) return own.view.shape;
    return {own.view.shape[1], own.view.shape[0]};
  }

  /// Replaces a tensor that is saved in full. With a tied base, it replaces only the embedding or
  /// only the LM head, unless the module is adapted or the config keeps the tie.
  void replace(const std::string& target, const CheckpointTensor& tensor) {
    const std::string module = target.substr(0, target.rfind('.'));
    const CheckpointTensor* own = base_.tensor(target);
    const CheckpointTensor* embedding = base_.embedding();
    const bool adapted = parts_.modules.contains(module) || parts_.token_rows.contains(target);
    const bool unties = base_.tied() && !adapted && !config_.keeps_ties;
    if (own == nullptr && base_.tied() && base_.is_head(target)) {
      if (embedding == nullptr) refuse_unknown(tensor, target);
      expect_shape(tensor, embedding->view.shape);
      put(unties ? target : embedding->name, tensor);
      unties_ = unties_ || unties;
      return;
    }
    if (own == nullptr) {
      // A head added in fine-tuning, such as a classification head.
      if (!config_.saves(module)) refuse_unknown(tensor, target);
      put(target, tensor);
      return;
    }
    expect_shape(tensor, usual_shape(*own));
    put(own->name, tensor);
    if (unties && own == embedding && !base_.heads().empty()) {
      const std::string& head = base_.heads().front();
      if (base_.tensor(head) != nullptr || parts_.whole.contains(head)) return;
      changed_[head] = *own;
      changed_[head].name = head;
      unties_ = true;
    }
  }

  /// The tensor before it is changed by a matrix: that of the adapter, if it has one.
  const CheckpointTensor& stored(const CheckpointTensor& own) const {
    const auto found = changed_.find(own.name);
    if (found != changed_.end()) return found->second;
    if (const auto problem = why_not_analyzed(base_.checkpoint(), own)) {
      throw Error(ErrorKind::format, base_.checkpoint().parts_of(own, verbatim(*problem)));
    }
    return own;
  }

  /// The changed matrix of a tensor, as it is stored.
  MergedMatrixPtr& merged(const CheckpointTensor& own) {
    MergedMatrixPtr& matrix = merged_[&own];
    if (matrix == nullptr) matrix = stored_matrix(whole_matrix(stored(own).view));
    return matrix;
  }

  void put_merged(const CheckpointTensor& own, const MergedMatrixPtr& matrix) {
    const CheckpointTensor before = stored(own);
    CheckpointTensor& after = changed_[own.name];
    after = before;
    after.view = merged_tensor(matrix, before.view, before.view.shape, parameters_);
  }

  void change(const std::string& module, const ModuleTensors& tensors) {
    const CheckpointTensor& any = *tensors.begin()->second;
    const std::string target = module + std::string(kWeightOf);
    const CheckpointTensor* own = base_.own_tensor(target);
    if (own == nullptr) own = router_of(base_, module);
    if (own == nullptr) return change_experts(module, tensors);
    if (own->view.shape.size() != 2) refuse(any, "changes '" + target + "', which is not a matrix");
    const LinearModule* linear = base_.linear(*own);
    const bool is_conv1d = linear != nullptr && linear->is_conv1d;
    const bool embeds = tensors.contains("embedding_A") || tensors.contains("embedding_rotation");
    const bool turned = embeds || (is_conv1d && !stored(*own).is_linear);
    MergedMatrixPtr& matrix = merged(*own);
    const ModuleToChange described{.name = module,
                                   .tensors = tensors,
                                   .weight = turned ? transposed(matrix) : matrix,
                                   .is_conv1d = is_conv1d,
                                   .is_saved = parts_.whole.contains(target),
                                   .of_base = own->name};
    const MergedMatrixPtr made = changes_.weight(described);
    matrix = turned ? transposed(made) : made;
    adapted_.insert(own);
    if (changes_.changes_bias(tensors)) change_bias(described);
  }

  void change_bias(const ModuleToChange& module) {
    const std::string target = module.name + std::string(kBiasOf);
    const CheckpointTensor* own = base_.tensor(target);
    if (own == nullptr) {
      const auto bias = module.tensors.find("bias");
      if (bias != module.tensors.end()) refuse_unknown(*bias->second, target);
      return;  // IA3 scales a bias only if there is one
    }
    const CheckpointTensor before = stored(*own);
    CheckpointTensor& after = changed_[own->name];
    after = before;
    after.view = merged_tensor(changes_.bias(module, before.view), before.view, before.view.shape,
                               parameters_);
  }

  void change_experts(const std::string& name, const ModuleTensors& tensors) {
    const CheckpointTensor& any = *tensors.begin()->second;
    const auto found = expert_parameter(base_, config_, parts_, name);
    if (!found) refuse_unknown(any, name + std::string(kWeightOf));
    for (const CheckpointTensor* own : tensors_of(*found)) {
      const CheckpointTensor before = stored(*own);
      CheckpointTensor& after = changed_[own->name];
      const MergedMatrixPtr made = changed_experts(*found, *own, changes_, tensors);
      after = before;
      after.view = merged_tensor(made, before.view, before.view.shape, parameters_);
    }
  }

  /// VeRA's projections have the size of the largest adapted module.
  void draw_projections() {
    if (config_.type != AdapterType::vera) return;
    std::int64_t outputs = 0, inputs = 0;
    for (const auto& [module, tensors] : parts_.modules) {
      const CheckpointTensor* own = base_.own_tensor(module + std::string(kWeightOf));
      if (own == nullptr || own->view.shape.size() != 2) continue;
      const LinearModule* linear = base_.linear(*own);
      const bool turned = linear != nullptr && linear->is_conv1d && !own->is_linear;
      outputs = std::max(outputs, own->view.shape[turned ? 1 : 0]);
      inputs = std::max(inputs, own->view.shape[turned ? 0 : 1]);
    }
    changes_.draw_vera_projections(outputs, inputs);
  }

  /// Rows of an embedding that were trained separately.
  void replace_rows(const std::string& target, const CheckpointTensor& rows) {
    const CheckpointTensor* own = base_.own_tensor(target);
    if (own == nullptr) refuse_unknown(rows, target);
    const std::vector<std::int64_t>* indices = nullptr;
    for (const auto& [module, found] : config_.token_rows) {
      const std::string whole_name = module + std::string(kWeightOf);
      const bool named = target == whole_name || target.ends_with("." + whole_name);
      if (module.empty() || named) indices = &found;
    }
    if (indices == nullptr) {
      refuse(rows, "contains rows of '" + target +
                       "', which is not in trainable_token_indices of adapter_config.json");
    }
    const Shape& shape = own->view.shape;
    if (shape.size() != 2) refuse(rows, "contains rows of '" + target + "', which is not a matrix");
    expect_shape(rows, {std::ssize(*indices), shape[1]});
    for (const std::int64_t at : *indices) {
      if (at < shape[0]) continue;
      refuse(rows, "replaces row " + std::to_string(at) + " of '" + target + "', which has " +
                       std::to_string(shape[0]));
    }
    MergedMatrixPtr& matrix = merged(*own);
    matrix = with_rows(matrix, *indices, whole_matrix(rows.view));
  }

  const BaseNames base_;
  const Checkpoint& files_;
  const AdapterConfig& config_;
  AdapterParts parts_;
  ModuleChanges changes_;
  std::string parameters_;  // see ValueSource
  bool unties_ = false;
  std::map<std::string, CheckpointTensor> changed_;            // by name
  std::map<const CheckpointTensor*, MergedMatrixPtr> merged_;  // as stored, by tensor of the base
  std::set<const CheckpointTensor*> adapted_;
};

}  // namespace

AdaptedTensors adapted_tensors(std::span<const Model> stacks, const Checkpoint& files,
                               const AdapterConfig& config) {
  return AdapterMerger(stacks, files, config).merge();
}

}  // namespace attnscope
