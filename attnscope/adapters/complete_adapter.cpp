#include "attnscope/adapters/complete_adapter.h"

#include <algorithm>
#include <string_view>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"

namespace attnscope {
namespace {

class CompletenessCheck {
 public:
  CompletenessCheck(const BaseNames& base, const Checkpoint& files, const AdapterConfig& config,
                    const AdapterParts& parts)
      : base_(base), files_(files), config_(config), parts_(parts) {
    for (const auto& [target, tensor] : parts.whole) saved_.insert(base.tensor(target));
    for (const Model& stack : base.stacks()) of_experts_.merge(tensors_of_experts(stack));
  }

  /// A module that the config adapts but the file does not contain is a lost part.
  void check_adapted(const std::set<const CheckpointTensor*>& adapted) const {
    if (!parts_.token_rows.empty() != !config_.token_rows.empty()) {
      throw Error(ErrorKind::format,
                  {.file = files_.main_file().string(),
                   .problem = "has no tensor for trainable_token_indices of adapter_config.json"});
    }
    if (config_.type == AdapterType::trainable_tokens) return;
    if (config_.type == AdapterType::layer_norm) return check_norms();
    for (const LinearModule& module : base_.linear()) {
      const bool dense =
          std::all_of(base_.stacks().begin(), base_.stacks().end(), [&](const Model& stack) {
            return stack.spec().architecture.experts == nullptr || !is_of_mlp(module.role);
          });
      if (!dense || adapted.contains(module.weight)) continue;
      if (!config_.is_target(module.name).value_or(false)) continue;
      refuse_missing(module.name + missing_part(),
                     "is missing, but adapter_config.json adapts its module");
    }
  }

  /// A module of the base that modules_to_save lists must have its weights in the file.
  void check_saved() const {
    const auto names = [&](const std::string& tensor) {
      return tensor.ends_with(".weight") && config_.saves(tensor.substr(0, tensor.rfind('.')));
    };
    for (const CheckpointTensor& own : base_.checkpoint().tensors()) {
      const std::string name = name_of(own);
      if (!names(name) || saved_.contains(&own) || of_experts_.contains(own.name)) continue;
      // A kept tie is stored as a single tensor.
      const bool kept_tie = config_.keeps_ties && base_.tied() && &own == base_.embedding();
      const bool as_head =
          std::any_of(base_.heads().begin(), base_.heads().end(),
                      [&](const std::string& head) { return parts_.whole.contains(head); });
      if (!kept_tie || !as_head) refuse_unsaved(name);
    }
    check_tied_head(names);
  }

 private:
  [[noreturn]] void refuse_missing(const std::string& name, const std::string& problem) const {
    throw Error(ErrorKind::format,
                {.file = files_.main_file().string(),
                 .problem = verbatim("tensor 'base_model.model." + name + "' " + problem)});
  }

  [[noreturn]] void refuse_unsaved(const std::string& name) const {
    refuse_missing(name, "is missing, but modules_to_save of adapter_config.json names its module");
  }

  /// The first tensor of a module of this type.
  std::string missing_part() const {
    switch (config_.type) {
      case AdapterType::adalora: return ".lora_A";
      case AdapterType::loha: return ".hada_w1_a";
      case AdapterType::lokr: return ".lokr_w1";
      case AdapterType::ia3: return ".ia3_l";
      case AdapterType::vera: return ".vera_lambda_b";
      case AdapterType::oft: return ".oft_R.weight";
      case AdapterType::boft: return ".boft_R";
      default: return ".lora_A.weight";
    }
  }

  std::string name_of(const CheckpointTensor& own) const {
    for (const Model& stack : base_.stacks()) {
      if (stack.owns(own.name)) return loaded_name(stack, own.name);
    }
    return own.name;
  }

  void check_norms() const {
    for (const CheckpointTensor& own : base_.checkpoint().tensors()) {
      const std::string name = name_of(own);
      if (own.view.shape.size() != 1 || saved_.contains(&own)) continue;
      const std::string module = name.substr(0, name.rfind('.'));
      if (!config_.is_target(module).value_or(false)) continue;
      refuse_missing(module + ".ln_tuning_layers" + name.substr(module.size()),
                     "is missing, but adapter_config.json adapts its module");
    }
  }

  /// The LM head of a tied base, which has no tensor of its own in the base.
  template <class Names>
  void check_tied_head(const Names& names) const {
    if (!base_.tied() || (config_.keeps_ties && saved_.contains(base_.embedding()))) return;
    const auto wanted = std::find_if(base_.heads().begin(), base_.heads().end(), names);
    const bool found =
        std::any_of(base_.heads().begin(), base_.heads().end(), [&](const std::string& head) {
          return base_.tensor(head) != nullptr || parts_.whole.contains(head);
        });
    if (wanted != base_.heads().end() && !found) refuse_unsaved(*wanted);
  }

  const BaseNames& base_;
  const Checkpoint& files_;
  const AdapterConfig& config_;
  const AdapterParts& parts_;
  std::set<const CheckpointTensor*> saved_;
  std::set<std::string> of_experts_;
};

}  // namespace

void check_complete(const BaseNames& base, const Checkpoint& files, const AdapterConfig& config,
                    const AdapterParts& parts, const std::set<const CheckpointTensor*>& adapted) {
  const CompletenessCheck check(base, files, config, parts);
  check.check_adapted(adapted);
  check.check_saved();
}

}  // namespace attnscope
