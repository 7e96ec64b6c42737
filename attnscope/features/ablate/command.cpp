#include "attnscope/features/ablate/run.h"

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/ablate/induction_run.h"
#include "attnscope/features/ablate/label_run.h"
#include "attnscope/features/common/options/example_options.h"
#include "attnscope/features/common/options/label_option.h"
#include "attnscope/features/common/options/prompts_file.h"
#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/common/options/target_options.h"
#include "attnscope/features/common/options/target_stacks.h"
#include "attnscope/features/common/options/text_options.h"
#include "attnscope/features/common/options/token_sequences.h"
#include "attnscope/features/common/repeated_tokens.h"
#include "attnscope/features/framework/open_models.h"
#include "attnscope/features/framework/session.h"

namespace attnscope {
namespace {

using enum ParameterType;

void run_induction_of(const Arguments& arguments, const std::vector<Model>& models,
                      const Context& context, RowSink& sink) {
  check_repeats_tokens(models);
  const InductionRequest request = induction_request(arguments);
  const auto* later = arguments.find<HeadInput>("receiver");
  run_ablate_induction(models, request, later == nullptr ? std::nullopt : std::optional(*later),
                       context, sink);
}

void run_prompts_of(const Arguments& arguments, const Session& session,
                    const std::vector<Model>& models, RowSink& sink) {
  check_single_texts(models, "prompts");
  AblatePromptsRequest request{.prompts = prompts_request(arguments, session, models),
                               .layers = arguments.layers("layers"),
                               .parts = join(arguments.texts("components"), ",")};
  const bool corrupted = !request.prompts.of_models.front().corrupted.empty();
  if (arguments.given("ablation") || !corrupted) request.how = arguments.text("ablation");
  if (request.how == "resample") {
    throw Error(ErrorKind::usage,
                {.parameter = "ablation",
                 .problem = "resample is not available for prompts, which have no windows",
                 .hint = "add a 'corrupted' text to each prompt to patch from it"});
  }
  run_ablate_prompts(models, request, session.context, sink);
}

void run_ablate_command(const Arguments& arguments, const Session& session, RowSink& sink) {
  const std::vector<Model> models = open_models(arguments, session);
  const StoringContext context(arguments, session);
  if (arguments.flag("induction")) return run_induction_of(arguments, models, context, sink);
  if (arguments.given("receiver")) {
    throw Error(ErrorKind::usage, {.parameter = "receiver", .problem = "requires {induction}"});
  }
  if (arguments.given("label")) {
    AblateLabelRequest request{.label = arguments.text("label"),
                               .layers = arguments.layers("layers"),
                               .parts = join(arguments.texts("components"), ","),
                               .how = arguments.text("ablation")};
    request.texts = label_texts(arguments, session, models, request.parameters, sink);
    return run_ablate_labels(models, request, context, sink);
  }
  if (arguments.given("prompts")) return run_prompts_of(arguments, session, models, sink);
  run_ablate(models,
             {.texts = scored_texts_or_targets(arguments, session, models, sink),
              .layers = arguments.layers("layers"),
              .parts = join(arguments.texts("components"), ","),
              .how = arguments.text("ablation")},
             context, sink);
}

Parameters ablate_parameters() {
  return {{.name = "components",
           .type = several,
           .help = "components to ablate, one at a time (layers: attention, mixer and "
                   "MLP)",
           .metavariable = "KINDS",
           .choices = {"all", "heads", "attention", "mixer", "mlp", "layers"},
           .default_words =
               "all; layers if the model has more than " + std::to_string(kUsualHeads) + " heads"},
          {.name = "ablation",
           .type = choice,
           .help = "replace each output by its mean over the text, by zeros, or by the same "
                   "component's output on the next window",
           .metavariable = "TYPE",
           .choices = {"mean", "zero", "resample"},
           .default_text = "mean"},
          {.name = "induction",
           .type = flag,
           .group = OptionGroup::mode,
           .help = "measure how ablating each head changes the induction scores of later heads, on "
                   "random tokens repeated twice"},
          {.name = "receiver",
           .type = receiver,
           .help = "with {induction}: ablate the direct paths into this head's query, key and "
                   "value inputs, one at a time; L5H3.k: only the key input",
           .metavariable = "HEAD"},
          label_parameter("classifiers: measure how ablating each component changes the logit of "
                          "this label (name or number)"),
          prompts_parameter("activation patching: measure how each component changes the logit "
                            "difference of clean and corrupted prompts")};
}

}  // namespace

Command ablate_command() {
  return {
      .name = "ablate",
      .summary = "Measure the loss increase from ablating each component",
      .examples = {{{"models", "examples/shakespeare-gpt2"},
                    {"text_file", "examples/README.md"},
                    {"sequences", "2"},
                    {"length", "64"}},
                   {{"models", "MODEL"}, {"text_file", "book.txt"}, {"components", "layers"}},
                   {{"models", "MODEL"}, {"text_file", "en.txt"}, {"target_file", "de.txt"}},
                   {{"models", "examples/shakespeare-gpt2"}, {"prompts", "examples/prompts.jsonl"}},
                   {{"models", "MODEL"}, {"induction", ""}},
                   {{"models", "MODEL"}, {"induction", ""}, {"receiver", "L1H0"}},
                   {{"models", "MODEL"},
                    {"token_file", "val.bin"},
                    {"layers", "-4-"},
                    {"store", "runs.sqlite"}}},
      .parameters = joined({remote_model_parameters(), text_parameters(), pair_parameters(),
                            window_parameters(kScoredWindows), example_parameters(),
                            ablate_parameters(), work_parameters(), output_parameters()}),
      .exclusions = joined_exclusions(
          {{"induction",
            {"components", "ablation", "text", "text_pair", "text_file", "tokens", "token_types",
             "token_file", "no_special_tokens", "consecutive", "prompts", "target", "target_tokens",
             "target_file", "lines", "score_positions"},
            "runs random tokens"},
           {"receiver", {"layers"}, "sets the layer"},
           prompts_exclusion({"token_file", "sequences", "length", "seed", "consecutive", "lines",
                              "score_positions", "store", "target", "target_tokens",
                              "target_file"})},
          joined_exclusions(
              label_exclusions({"induction", "prompts", "store", "score_positions", "target",
                                "target_tokens", "target_file"}),
              joined_exclusions(joined_exclusions(text_exclusions(/*with_windows=*/true),
                                                  example_exclusions(/*with_windows=*/true)),
                                pair_exclusions(/*with_windows=*/true)))),
      .analyses = {&ablate_analysis(), &ablate_induction_analysis()},
      .run = run_ablate_command};
}

}  // namespace attnscope
