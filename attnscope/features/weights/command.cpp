#include "attnscope/features/weights/run.h"

#include "attnscope/base/text.h"
#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/framework/open_models.h"
#include "attnscope/features/framework/session.h"

namespace attnscope {
namespace {

constexpr BinRule kWeightBins = {.bins = 80, .range = ValueRange{-0.8, 0.8}};

void run_weights_command(const Arguments& arguments, const Session& session, RowSink& sink) {
  WeightsRequest request{.matrices = arguments.roles("matrix"),
                         .layers = arguments.layers("layers"),
                         .experts = {arguments.text("experts")},
                         .options = {{"per_head", arguments.flag("per_head")}}};
  add_bin_options(request.options, arguments, kWeightBins);
  const std::vector<Model> models = open_models(arguments, session);
  const StoringContext context(arguments, session);
  run_weights(models, request, context, sink);
  note_idle_bins(arguments, sink);
}

Parameters weights_parameters() {
  std::vector<std::string> projections;
  for (const Role role : kProjections) projections.emplace_back(role_name(role));
  return {{.name = "matrix",
           .type = ParameterType::roles,
           .metavariable = "NAMES",
           .choices = projections,
           .default_words = "all matrices of the model",
           .rejected_role = "weights supports only stored matrices, not '*'"},
          per_head_flag(),
          experts_parameter()};
}

}  // namespace

Command weights_command() {
  return {
      .name = "weights",
      .summary = "Compute moments, quantiles and histograms of weights",
      .examples =
          {{{"models", "examples/shakespeare-llama"}},
           {{"models", "MODEL"}, {"per_head", ""}, {"format", "csv"}, {"out", "weights.csv"}},
           {{"models", "MODEL"},
            {"histogram", ""},
            {"bins", "fd"},
            {"matrix", "q,k"},
            {"format", "json"}}},
      .parameters = joined({remote_model_parameters(), weights_parameters(),
                            bin_parameters(kWeightBins), work_parameters(), output_parameters()}),
      .analyses = {&weights_analysis()},
      .run = run_weights_command};
}

}  // namespace attnscope
