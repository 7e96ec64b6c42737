#include "attnscope/features/all_commands.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "attnscope/base/error.h"
#include "attnscope/features/framework/command.h"
#include "attnscope/rows/sink.h"

namespace attnscope {
namespace {

[[noreturn]] void refuse_item(const std::string& problem) {
  throw Error(ErrorKind::format, {.place = "work item", .problem = verbatim(problem)});
}

void check_tensor(const Analysis& analysis, const WorkItem& item, const ModelSource& source) {
  if (!analysis.takes_tensors) refuse_item(item.analysis + " does not accept a tensor");
  const CheckpointTensor* tensor = source.checkpoint->find(item.tensor);
  if (tensor == nullptr) refuse_item(source.name + " has no '" + item.tensor + "'");
  if (tensor->view.shape.size() != 2 || tensor->view.element_count() == 0) {
    refuse_item("'" + item.tensor + "' of " + source.name + " is not a matrix");
  }
}

void check_layer(const Model& model, std::int64_t layer) {
  if (layer >= 0 && layer < model.dimensions().layers) return;
  refuse_item(model.name() + " has no layer " + std::to_string(layer));
}

/// A role that the architecture defines may still be missing in the files; then its outcomes report
/// that.
void check_role(const Analysis& analysis, const WorkItem& item, const Model& model) {
  if (analysis.roles.empty() != !item.role) {
    refuse_item(item.role ? item.analysis + " does not accept a role" : "missing role");
  }
  if (!item.role) return;
  const std::string role(role_name(*item.role));
  if (std::find(analysis.roles.begin(), analysis.roles.end(), *item.role) == analysis.roles.end()) {
    refuse_item(item.analysis + " does not support '" + role + "'");
  }
  if (!item.experts.empty()) {
    const std::int64_t last = *std::max_element(item.experts.begin(), item.experts.end());
    if (!analysis.takes_experts) refuse_item(item.analysis + " does not support experts");
    if (!model.spec().has_experts(*item.layer) || !model.describes_of_expert(*item.role) ||
        last >= model.dimensions().experts) {
      refuse_item("layer " + std::to_string(*item.layer) + " of " + model.name() +
                  " has no such experts");
    }
    return;
  }
  if (!model.describes(*item.role)) refuse_item(model.name() + " has no '" + role + "'");
}

void check_batch(const Analysis& analysis, const WorkItem& item, const ModelSource& source) {
  if (!analysis.takes_batches) refuse_item(item.analysis + " does not accept sequences");
  if (source.model == nullptr || item.layer || item.role)
    refuse_item("cannot have both a layer and sequences");
  if (item.batch->layers.empty()) refuse_item("missing layers");
  for (const std::int64_t layer : item.batch->layers) check_layer(*source.model, layer);
}

void check_layers(const Analysis& analysis, const WorkItem& item, const ModelSource& source) {
  if (source.model == nullptr || !item.layer) refuse_item("missing layer");
  check_layer(*source.model, *item.layer);
  check_role(analysis, item, *source.model);
  if (!item.earlier_layer) return;
  check_layer(*source.model, *item.earlier_layer);
  if (!analysis.roles.empty() || *item.earlier_layer >= *item.layer) {
    refuse_item("layer " + std::to_string(*item.earlier_layer) + " is not before the other layer");
  }
}

}  // namespace

std::vector<const Analysis*> analyses() {
  std::vector<const Analysis*> all;
  for (const Command& command : commands()) {
    all.insert(all.end(), command.analyses.begin(), command.analyses.end());
  }
  return all;
}

const Analysis* find_analysis(std::string_view name) {
  for (const Analysis* analysis : analyses()) {
    if (analysis->name == name) return analysis;
  }
  return nullptr;
}

std::vector<Outcome> compute_item(const WorkItem& item, std::span<const ModelSource> sources,
                                  const Compute& compute) {
  const Analysis* analysis = find_analysis(item.analysis);
  if (analysis == nullptr) refuse_item("unknown analysis '" + item.analysis + "'");
  if (item.model >= sources.size()) refuse_item("unknown model " + std::to_string(item.model));
  const ModelSource& source = sources[item.model];
  if (item.batch) {
    check_batch(*analysis, item, source);
  } else if (item.tensor.empty()) {
    if (analysis->takes_batches) refuse_item("missing sequences");
    check_layers(*analysis, item, source);
  } else {
    check_tensor(*analysis, item, source);
  }
  if (analysis->check_parameters != nullptr) analysis->check_parameters(item, source);
  return analysis->compute(item, source, compute);
}

// One function per command, NAME_command() in the folder of that name, in the order shown by help.
#define ATTNSCOPE_COMMANDS(COMMAND) \
  COMMAND(info)                     \
  COMMAND(spectrum)                 \
  COMMAND(weights)                  \
  COMMAND(similarity)               \
  COMMAND(experts)                  \
  COMMAND(diff)                     \
  COMMAND(matrix)                   \
  COMMAND(circuits)                 \
  COMMAND(attention)                \
  COMMAND(predict)                  \
  COMMAND(lens)                     \
  COMMAND(ablate)                   \
  COMMAND(read)                     \
  COMMAND(plan)                     \
  COMMAND(shrink)                   \
  COMMAND(report)                   \
  COMMAND(export)

#define ATTNSCOPE_DECLARE(name) Command name##_command();
ATTNSCOPE_COMMANDS(ATTNSCOPE_DECLARE)
#undef ATTNSCOPE_DECLARE

std::span<const Command> commands() {
#define ATTNSCOPE_CALL(name) name##_command(),
  static const std::array all = {ATTNSCOPE_COMMANDS(ATTNSCOPE_CALL)};
#undef ATTNSCOPE_CALL
  return all;
}
#undef ATTNSCOPE_COMMANDS

const Command& find_command_named(std::string_view name) {
  const Command* command = find_command(commands(), name);
  if (command == nullptr) throw std::out_of_range("no such command");
  return *command;
}

}  // namespace attnscope
