#include "attnscope/adapters/expert_modules.h"

#include <algorithm>
#include <string_view>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/model/expert_and_mixer_rules.h"

namespace attnscope {
namespace {

constexpr std::string_view kWrapped = ".base_layer", kExperts = ".experts";

/// The layer whose number follows "layers." in the name.
std::optional<std::int64_t> layer_of(const Model& model, const std::string& module) {
  const std::vector<std::string> parts = split(module, '.');
  for (std::size_t at = 0; at + 1 < parts.size(); ++at) {
    if (parts[at] != "layers") continue;
    const std::string& number = parts[at + 1];
    const bool is_number = !number.empty() && number.size() < 10 &&
                           number.find_first_not_of("0123456789") == std::string::npos;
    if (!is_number || std::stoll(number) >= model.dimensions().layers) continue;
    return std::stoll(number);
  }
  return std::nullopt;
}

std::size_t depth_of(std::string& module) {
  std::size_t depth = 0;
  for (; module.ends_with(kWrapped); ++depth) module.resize(module.size() - kWrapped.size());
  return depth;
}

/// Whether transformers alternates the rows of gate and up (gpt-oss).
bool alternates(const Model& model) {
  const auto& layouts = model.spec().architecture.experts->tensors;
  return std::ranges::any_of(layouts, [](const ExpertTensors& layout) {
    return std::ranges::any_of(layout.weights,
                               [](const WeightRule& rule) { return rule.groups == kPerRow; });
  });
}

std::int64_t rows_of(const Model& model, std::int64_t layer, Role role) {
  return model.expert_weight(layer, 0, role).matrix.rows;
}

}  // namespace

std::optional<ExpertParameter> expert_parameter(const BaseNames& base, const AdapterConfig& config,
                                                const AdapterParts& parts,
                                                const std::string& module) {
  std::string name = module;
  const std::size_t depth = depth_of(name);
  if (!name.ends_with(kExperts)) return std::nullopt;
  std::vector<std::string> adapted;  // parameters of this module, the innermost first
  for (const std::string_view one : kExpertParameters) {
    const std::string full = name + '.' + std::string(one);
    if (config.parameters.has(full, config.budget)) adapted.push_back(full);
  }
  std::string outermost = name;
  std::size_t levels = 0;
  for (; parts.modules.contains(outermost); ++levels) outermost += kWrapped;
  if (levels != adapted.size() || depth >= levels) return std::nullopt;
  ExpertParameter out{.name = adapted[levels - 1 - depth]};
  for (const Model& stack : base.stacks()) {
    const auto layer = layer_of(stack, name);
    if (!layer || !stack.spec().has_experts(*layer)) continue;
    out.model = &stack;
    out.layer = *layer;
  }
  if (out.model == nullptr) return std::nullopt;
  if (out.name.ends_with(".down_proj")) {
    out.roles = {Role::down};
  } else {
    if (out.name.ends_with(".gate_up_proj")) out.roles.push_back(Role::gate);
    out.roles.push_back(Role::up);
  }
  for (const Role role : out.roles) {
    if (out.model->expert_weight(out.layer, 0, role).tensor == nullptr) return std::nullopt;
  }
  const auto tensor_of = [&](Role role) {
    return out.model->expert_weight(out.layer, 0, role).tensor;
  };
  const bool apart = tensor_of(out.roles.front()) != tensor_of(out.roles.back());
  if (apart && alternates(*out.model)) {
    throw Error(ErrorKind::unsupported,
                {.file = out.model->checkpoint().main_file().string(),
                 .tensor = tensor_of(Role::gate)->name,
                 .problem = verbatim("the adapter changes '" + out.name +
                                     "', whose rows alternate between gate and up, but the file "
                                     "keeps gate and up apart"),
                 .hint = "pass the base in the format of transformers"});
  }
  return out;
}

std::vector<const CheckpointTensor*> tensors_of(const ExpertParameter& parameter) {
  std::vector<const CheckpointTensor*> out;
  const Model& model = *parameter.model;
  for (const Role role : parameter.roles) {
    for (std::int64_t expert = 0; expert < model.dimensions().experts; ++expert) {
      const CheckpointTensor* own = model.expert_weight(parameter.layer, expert, role).tensor;
      if (own != nullptr && std::find(out.begin(), out.end(), own) == out.end()) out.push_back(own);
    }
  }
  return out;
}

MergedMatrixPtr changed_experts(const ExpertParameter& parameter, const CheckpointTensor& tensor,
                                const ModuleChanges& changes, const ModuleTensors& tensors) {
  const Model& model = *parameter.model;
  const std::int64_t count = model.dimensions().experts;
  const auto change = [&](MergedMatrixPtr weight, std::int64_t expert, std::int64_t first) {
    const ModuleToChange module{.name = parameter.name,
                                .tensors = tensors,
                                .weight = std::move(weight),
                                .of_base = tensor.name};
    return changes.expert_weight(module, parameter.name, expert, count, first);
  };
  const Shape& shape = tensor.view.shape;
  if (shape.size() == 2) {
    std::int64_t first = 0;  // gate comes before up
    for (const Role role : parameter.roles) {
      for (std::int64_t expert = 0; expert < count; ++expert) {
        const Weight own = model.expert_weight(parameter.layer, expert, role);
        if (own.tensor != &tensor) continue;
        const bool turned = own.matrix.row_stride == 1 && own.matrix.col_stride != 1;
        const MergedMatrixPtr stored = stored_matrix(whole_matrix(tensor.view));
        const MergedMatrixPtr made = change(turned ? transposed(stored) : stored, expert, first);
        return turned ? transposed(made) : made;
      }
      first += rows_of(model, parameter.layer, role);
    }
  }
  // All experts in one tensor, (experts, outputs, inputs) or (experts, inputs, outputs).
  Weight one;
  std::int64_t first = 0;  // gate comes before up, also if each has its own tensor
  for (const Role role : parameter.roles) {
    one = model.expert_weight(parameter.layer, 0, role);
    if (one.tensor == &tensor) break;
    first += one.matrix.rows;
  }
  const bool turned = one.matrix.col_stride != 1;
  std::vector<MergedMatrixPtr> stacked_experts;
  for (std::int64_t expert = 0; expert < count; ++expert) {
    const MergedMatrixPtr stored =
        stored_matrix({.tensor = tensor.view,
                       .rows = shape[1],
                       .cols = shape[2],
                       .first = expert * tensor.view.stride(0),
                       .row_stride = tensor.view.stride(1),
                       .col_stride = tensor.view.stride(2),
                       .block_rows = std::max<std::int64_t>(shape[1], 1)});
    const MergedMatrixPtr made = change(turned ? transposed(stored) : stored, expert, first);
    stacked_experts.push_back(turned ? transposed(made) : made);
  }
  return stacked(std::move(stacked_experts));
}

const CheckpointTensor* router_of(const BaseNames& base, const std::string& module) {
  const std::string last = module.substr(module.rfind('.') + 1);
  if (last != "gate" && last != "router") return nullptr;
  for (const Model& stack : base.stacks()) {
    const auto layer = layer_of(stack, module);
    if (!layer || !stack.spec().has_experts(*layer)) continue;
    return stack.weight(*layer, Role::router).tensor;
  }
  return nullptr;
}

}  // namespace attnscope
