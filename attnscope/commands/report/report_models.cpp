#include "attnscope/commands/report/report_models.h"

#include <algorithm>

#include "attnscope/commands/named_models.h"
#include "attnscope/forward/forward_pass.h"

namespace attnscope {

std::vector<ReportModel> report_models(const Arguments& report, const std::vector<Model>& models,
                                       const Session& session) {
  const std::vector<NamedModel> named = named_models(report, session);
  const Compute compute{.kernels = session.context.kernels, .stop = session.context.stop};
  std::vector<ReportModel> out;
  for (std::size_t index = 0; index < models.size(); ++index) {
    const Model& model = models[index];
    out.push_back({.model = model,
                   .report = report.with("models", std::vector{named[index].text}),
                   .is_alone = models.size() == 1});
    ReportModel& one = out.back();
    try {
      const ForwardPass pass(model, /*copy_weights=*/false, compute);
      one.longest = std::min(pass.longest(), model.dimensions().context.value_or(pass.longest()));
      one.vocabulary = pass.vocabulary();
    } catch (const Error& error) {
      one.not_run = error;
    }
  }
  return out;
}

}  // namespace attnscope
