#include "attnscope/features/ablate/run.h"

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/ablate/head_sets_run.h"
#include "attnscope/features/ablate/induction_run.h"
#include "attnscope/features/ablate/label_run.h"
#include "attnscope/features/ablate/patching_run.h"
#include "attnscope/features/ablate/path_run.h"
#include "attnscope/features/common/options/device_options.h"
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
  std::optional<HeadInput> later;
  if (const auto* given = arguments.find<std::vector<HeadInput>>("receiver")) {
    if (given->size() != 1 || given->front().logits) {
      throw Error(ErrorKind::usage,
                  {.parameter = "receiver", .problem = "with {induction}, expects one head"});
    }
    later = given->front();
  }
  run_ablate_induction(models, request, later, context, sink);
}

void run_prompts_of(const Arguments& arguments, const Session& session,
                    const std::vector<Model>& models, RowSink& sink) {
  check_single_texts(models, "prompts");
  if (arguments.given("sender")) {
    const ScorePositions scored(arguments, session);
    return run_path_patching(
        models, path_request(arguments, prompts_request(arguments, session, models), scored),
        session.context, sink);
  }
  for (const char* name : {"receiver", "through_mlps", "freeze_norms"}) {
    if (!arguments.given(name)) continue;
    throw Error(ErrorKind::usage, {.parameter = name, .problem = "requires {sender}"});
  }
  if (asks_for_patching(arguments)) {
    const ScorePositions scored(arguments, session);
    return run_patching(
        models, patching_request(arguments, prompts_request(arguments, session, models), scored),
        session.context, sink);
  }
  if (arguments.given("score_positions")) {
    throw Error(ErrorKind::usage, {.parameter = "score_positions",
                                   .problem = "requires {metric} kl or loss for prompts"});
  }
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

bool asks_for_sets(const Arguments& arguments) {
  return arguments.given("heads") || arguments.flag("cumulative") || arguments.given("pairs");
}

void run_sets_of(const Arguments& arguments, const Session& session,
                 const std::vector<Model>& models, const Context& context, RowSink& sink) {
  using Of = AblateSetsRequest::Of;
  AblateSetsRequest request{
      .texts = scored_texts_or_targets(arguments, session, models, sink),
      .of = arguments.flag("cumulative") ? Of::cumulative
            : arguments.given("pairs")   ? Of::pairs
                                         : Of::heads,
      .heads = arguments.heads("heads"),
      .layers = arguments.layers("layers"),
      .pairs = arguments.integer("pairs").value_or(0),
      .seed = static_cast<std::uint64_t>(arguments.integer("seed").value_or(0)),
      .how = arguments.text("ablation")};
  run_ablate_sets(models, request, context, sink);
}

void run_ablate_command(const Arguments& arguments, const Session& session, RowSink& sink) {
  const std::vector<Model> models = open_models(arguments, session);
  const StoringContext context(arguments, session);
  if (!arguments.given("prompts")) refuse_patching_without_prompts(arguments);
  if (arguments.flag("induction")) return run_induction_of(arguments, models, context, sink);
  if (arguments.given("receiver") && !arguments.given("prompts")) {
    throw Error(ErrorKind::usage,
                {.parameter = "receiver", .problem = "requires {induction} or {sender}"});
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
  if (asks_for_sets(arguments)) return run_sets_of(arguments, session, models, context, sink);
  run_ablate(models,
             {.texts = scored_texts_or_targets(arguments, session, models, sink),
              .layers = arguments.layers("layers"),
              .parts = join(arguments.texts("components"), ","),
              .how = arguments.text("ablation")},
             context, sink);
}

Parameters ablate_parameters() {
  Parameters out = {
      {.name = "components",
       .type = several,
       .help = "components to ablate, one at a time (layers: attention, mixer and MLP). With "
               "{prompts}, "
               "also resid_pre, q, k and v",
       .metavariable = "KINDS",
       .choices = {"all", "heads", "attention", "mixer", "mlp", "layers", "resid_pre", "q", "k",
                   "v"},
       .default_words =
           "all; layers if the model has more than " + std::to_string(kUsualHeads) + " heads"},
      {.name = "ablation",
       .type = choice,
       .help = "replace each output by its mean over the text, by zeros, or by the same "
               "component's output on the next window",
       .metavariable = "TYPE",
       .choices = {"mean", "zero", "resample"},
       .default_text = "mean"},
      {.name = "heads",
       .type = heads,
       .help = "ablate these heads together, and each alone",
       .metavariable = "HEADS"},
      {.name = "cumulative",
       .type = flag,
       .group = OptionGroup::mode,
       .help = "ablate more and more heads, those with the smallest effect first, and in random "
               "orders: how many heads does the model need?"},
      {.name = "pairs",
       .type = integer,
       .group = OptionGroup::mode,
       .help = "ablate each pair of the N heads with the largest effects: is the effect of two "
               "heads the sum of their effects?",
       .metavariable = "N",
       .least = 2,
       .most = 64},
      {.name = "induction",
       .type = flag,
       .group = OptionGroup::mode,
       .help = "measure how ablating each head changes the induction scores of later heads, on "
               "random tokens repeated twice"},
      {.name = "receiver",
       .type = receiver,
       .help = "with {induction}: ablate the direct paths into this head's query, key and value "
               "inputs, one at a time (L5H3), or into one of them (L5H3.k). With {sender}: "
               "inputs that receive the path together, such as L5H3.q,L6H0.q, or logits",
       .metavariable = "HEAD"},
      label_parameter("classifiers: measure how ablating each component changes the logit of "
                      "this label (name or number)"),
      prompts_parameter("activation patching: measure how each component changes the logit "
                        "difference of clean and corrupted prompts")};
  for (Parameter& parameter : patching_parameters()) out.push_back(std::move(parameter));
  for (Parameter& parameter : path_parameters()) out.push_back(std::move(parameter));
  return out;
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
                   {{"models", "MODEL"}, {"text_file", "book.txt"}, {"heads", "L0H1,L2H3"}},
                   {{"models", "MODEL"}, {"text_file", "book.txt"}, {"cumulative", ""}},
                   {{"models", "examples/shakespeare-gpt2"},
                    {"prompts", "examples/prompts.jsonl"},
                    {"patch_positions", "last"}},
                   {{"models", "MODEL"}, {"induction", ""}},
                   {{"models", "MODEL"}, {"induction", ""}, {"receiver", "L1H0"}},
                   {{"models", "MODEL"},
                    {"token_file", "val.bin"},
                    {"layers", "-4-"},
                    {"store", "runs.sqlite"}}},
      .parameters =
          joined({remote_model_parameters(), text_parameters(), pair_parameters(),
                  window_parameters(kScoredWindows), example_parameters(), ablate_parameters(),
                  work_parameters(), device_parameters(), output_parameters()}),
      .exclusions = joined_exclusions(
          {{"induction",
            {"components", "ablation", "text", "text_pair", "text_file", "tokens", "token_types",
             "token_file", "no_special_tokens", "consecutive", "prompts", "target", "target_tokens",
             "target_file", "lines", "score_positions", "chat"},
            "runs random tokens"},
           {"receiver", {"layers"}, "sets the layer"},
           {"heads", {"components", "layers", "induction", "prompts", "label"}, "selects heads"},
           {"cumulative",
            {"components", "induction", "prompts", "label", "pairs"},
            "ablates heads"},
           {"pairs", {"components", "induction", "prompts", "label"}, "ablates heads"},
           prompts_exclusion({"token_file", "sequences", "length", "seed", "consecutive", "lines",
                              "store", "target", "target_tokens", "target_file"})},
          joined_exclusions(
              label_exclusions({"induction", "prompts", "store", "score_positions", "target",
                                "target_tokens", "target_file"}),
              joined_exclusions(joined_exclusions(text_exclusions(/*with_windows=*/true),
                                                  example_exclusions(/*with_windows=*/true)),
                                pair_exclusions(/*with_windows=*/true)))),
      .analyses = {&ablate_analysis(), &ablate_sets_analysis(), &ablate_induction_analysis()},
      .run = run_ablate_command};
}

}  // namespace attnscope
