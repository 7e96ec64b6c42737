#include "attnscope/pipeline/analyses.h"

#include "attnscope/core/error.h"
#include "attnscope/pipeline/circuits.h"
#include "attnscope/pipeline/mla.h"
#include "attnscope/pipeline/similarity.h"
#include "attnscope/pipeline/spectrum.h"
#include "attnscope/pipeline/weights.h"

namespace attnscope {
namespace {

[[noreturn]] void refuse(const std::string& problem) {
  throw Error(ErrorKind::format, {.place = "work item", .problem = problem});
}

void check_layer(const Model& model, std::optional<std::int64_t> layer) {
  if (!layer || *layer < model.dimensions().layers) return;
  refuse(model.name() + " has no layer " + std::to_string(*layer));
}

}  // namespace

const std::vector<const Analysis*>& analyses() {
  static const std::vector<const Analysis*> all = {
      &circuits_analysis(),     &composition_analysis(), &head_matrix_analysis(),
      &head_overlap_analysis(), &mla_analysis(),         &similarity_analysis(),
      &spectrum_analysis(),     &weights_analysis(),
  };
  return all;
}

const Analysis* find_analysis(std::string_view name) {
  for (const Analysis* analysis : analyses()) {
    if (analysis->name == name) return analysis;
  }
  return nullptr;
}

std::vector<Outcome> compute_item(const WorkItem& item, std::span<const Source> sources,
                                  const Compute& compute) {
  const Analysis* analysis = find_analysis(item.analysis);
  if (analysis == nullptr) refuse("no analysis is called '" + item.analysis + "'");
  if (item.model >= sources.size()) refuse("there is no model " + std::to_string(item.model));
  const Source& source = sources[item.model];
  if (!item.tensor.empty()) {
    if (source.checkpoint->find(item.tensor) == nullptr) {
      refuse(source.name + " has no '" + item.tensor + "'");
    }
  } else {
    if (source.model == nullptr || !item.layer) refuse("names no layer");
    check_layer(*source.model, item.layer);
    check_layer(*source.model, item.earlier_layer);
    if (item.role && !source.model->has(*item.role)) {
      refuse(source.name + " has no '" + std::string(role_name(*item.role)) + "'");
    }
  }
  return analysis->compute(item, source, compute);
}

}  // namespace attnscope
