#include "attnscope/engine/analysis.h"

#include "attnscope/engine/summary_rows.h"

namespace attnscope {

std::vector<ModelSource> sources_of(std::span<const Model> models) {
  std::vector<ModelSource> sources;
  for (const Model& model : models) {
    sources.push_back({.checkpoint = &model.checkpoint(),
                       .model = &model,
                       .name = model.name(),
                       .facts = facts_record(summarize(model))});
  }
  return sources;
}

void add_role_inputs(ItemInputs& inputs, const WorkItem& item, const ModelSource& source) {
  inputs.add("role", role_name(*item.role)).add_shape(*source.model, *item.layer);
  if (!item.experts.empty()) {
    inputs.add("experts", item.experts);
    for (const std::int64_t expert : item.experts) {
      inputs.add_expert(*source.model, *item.layer, expert, *item.role);
    }
    return;
  }
  inputs.add_role(*source.model, *item.layer, *item.role);
  if (item.latent_rms) inputs.add("latent_rms", latent_rms_record(*item.latent_rms));
}

}  // namespace attnscope
