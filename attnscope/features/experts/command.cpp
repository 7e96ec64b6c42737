#include "attnscope/features/experts/run.h"

#include "attnscope/features/common/options/device_options.h"
#include "attnscope/features/common/options/example_options.h"
#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/common/options/text_options.h"
#include "attnscope/features/common/options/token_sequences.h"
#include "attnscope/features/framework/open_models.h"
#include "attnscope/features/framework/session.h"

namespace attnscope {
namespace {

void run_experts_command(const Arguments& arguments, const Session& session, RowSink& sink) {
  const std::vector<Model> models = open_models(arguments, session);
  check_experts(models);
  const StoringContext context(arguments, session);
  if (!names_a_text(arguments)) {
    refuse_examples_without_text(arguments);
    const ExpertsRequest request{.layers = arguments.layers("layers"),
                                 .experts = {arguments.text("experts")},
                                 .thresholds = arguments.shares("energy")};
    return run_experts(models, request, context, sink);
  }
  RoutingRequest request{.layers = arguments.layers("layers")};
  for (const Model& model : models) {
    TokenSequences sequences = token_sequences(arguments, session, model);
    if (!sequences.note.empty()) sink.add_note(std::move(sequences.note));
    request.text = std::move(sequences.parameters);
    request.sequences.push_back(std::move(sequences.of_model));
    request.scored.push_back(std::move(sequences.scored));
  }
  run_routing(models, request, context, sink);
}

}  // namespace

Command experts_command() {
  std::vector<Exclusion> exclusions = joined_exclusions(text_exclusions(/*with_windows=*/true),
                                                        example_exclusions(/*with_windows=*/true));
  for (const char* text :
       {"text", "text_pair", "text_file", "tokens", "token_types", "token_file", "chat"}) {
    exclusions.push_back({text, {"experts", "energy"}, "reports routing on a text"});
  }
  return {
      .name = "experts",
      .summary = "Compare experts, or measure routing on a text",
      .examples = {{{"models", "MODEL"}},
                   {{"models", "MODEL"}, {"experts", "0-7"}, {"layers", "-2-"}},
                   {{"models", "MODEL"}, {"token_file", "val.bin"}, {"format", "json"}}},
      .parameters = joined({remote_model_parameters(),
                            text_parameters(),
                            window_parameters(),
                            example_parameters(),
                            {experts_parameter(), energy_parameter(ExpertsRequest().thresholds)},
                            work_parameters(),
                            device_parameters(),
                            output_parameters()}),
      .exclusions = std::move(exclusions),
      .analyses = {&experts_analysis(), &routing_analysis()},
      .run = run_experts_command};
}

}  // namespace attnscope
