#include "attnscope/features/lens/run.h"

#include "attnscope/features/common/options/device_options.h"
#include "attnscope/features/common/options/edits_option.h"
#include "attnscope/features/common/options/label_option.h"
#include "attnscope/features/lens/label_run.h"

#include <algorithm>
#include <deque>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/common/options/example_options.h"
#include "attnscope/features/common/options/prompts_file.h"
#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/common/options/target_options.h"
#include "attnscope/features/common/options/target_stacks.h"
#include "attnscope/features/common/options/text_options.h"
#include "attnscope/features/common/options/token_sequences.h"
#include "attnscope/features/framework/open_models.h"
#include "attnscope/features/framework/session.h"

namespace attnscope {
namespace {

using enum ParameterType;

LensStates states_of(const Arguments& arguments) {
  const std::vector<std::string> states = arguments.texts("states");
  const auto has = [&](const char* name) { return std::ranges::count(states, name) > 0; };
  return {.middles = has("resid_mid"),
          .attn_out = has("attn_out"),
          .mlp_out = has("mlp_out"),
          .tuned_lens = arguments.text("tuned_lens")};
}

void run_grid_of(const Arguments& arguments, const Session& session,
                 const std::vector<Model>& models, const Context& context, RowSink& sink) {
  std::deque<TokenizedText> texts;
  LensGridRequest request{.states = states_of(arguments), .top = *arguments.integer("top")};
  ScoredTexts targets;
  const bool paired = std::any_of(models.begin(), models.end(), is_of_encoder_decoder);
  if (paired || arguments.given("target") || arguments.given("target_tokens")) {
    targets = scored_texts_or_targets(arguments, session, models, sink);
  }
  for (std::size_t index = 0; index < models.size(); ++index) {
    TokenizedText& text = texts.emplace_back(tokenized_text(arguments, session, models[index]));
    Prompt& prompt = request.prompts.emplace_back();
    prompt.tokens = paired ? targets.sequences[index].front() : text.tokens;
    if (paired) prompt.source = text.tokens;
    if (text.tokenizer) prompt.tokenizer = &*text.tokenizer;
    request.text = {{"source", text.source}};
    for (const std::string& note : {text.note, text.unknown_note}) {
      if (!note.empty()) sink.add_note(note);
    }
  }
  run_lens_grid(models, request, context, sink);
}

/// Removes the stacks whose states reach the unembedding only through a decoder; a note names
/// removed encoders.
std::vector<Model> with_heads(std::vector<Model> models, RowSink& sink) {
  std::vector<Model> kept = without_helping_stacks(models);
  for (const Model& model : models) {
    const bool is_kept = std::any_of(
        kept.begin(), kept.end(), [&](const Model& other) { return other.name() == model.name(); });
    if (is_kept || model.stack() != "encoder") continue;
    sink.add_note(verbatim(model.name()) +
                  ": skipped, because its states reach the unembedding only through the decoder");
  }
  return kept;
}

void run_lens_command(const Arguments& arguments, const Session& session, RowSink& sink) {
  if (arguments.given("top") && !arguments.flag("grid")) {
    throw Error(ErrorKind::usage, {.parameter = "top", .problem = "requires {grid}"});
  }
  const std::vector<Model> models = with_heads(open_models(arguments, session), sink);
  const StoringContext storing(arguments, session);
  const EditingContext context(arguments, session, storing);
  if (arguments.given("prompts")) {
    check_single_texts(models, "prompts");
    return run_lens_prompts(
        models,
        {.prompts = prompts_request(arguments, session, models), .states = states_of(arguments)},
        context, sink);
  }
  if (arguments.given("label")) {
    if (states_of(arguments).attn_out || states_of(arguments).mlp_out) {
      throw Error(ErrorKind::usage,
                  {.parameter = "states",
                   .problem = "with {label}, only states of the residual stream are decoded"});
    }
    LensLabelRequest request{.label = arguments.text("label"),
                             .middles = states_of(arguments).middles};
    request.texts = label_texts(arguments, session, models, request.parameters, sink);
    return run_lens_labels(models, request, context, sink);
  }
  if (arguments.flag("grid")) return run_grid_of(arguments, session, models, context, sink);
  run_lens(models,
           {.texts = scored_texts_or_targets(arguments, session, models, sink),
            .states = states_of(arguments)},
           context, sink);
}

}  // namespace

Command lens_command() {
  std::vector<Exclusion> exclusions =
      joined_exclusions(joined_exclusions(text_exclusions(/*with_windows=*/true),
                                          example_exclusions(/*with_windows=*/true)),
                        pair_exclusions(/*with_windows=*/true));
  exclusions.push_back(prompts_exclusion({"token_file", "sequences", "length", "seed",
                                          "consecutive", "lines", "score_positions", "grid",
                                          "store", "target", "target_tokens", "target_file"}));
  exclusions = joined_exclusions(std::move(exclusions),
                                 label_exclusions({"prompts", "grid", "store", "score_positions",
                                                   "target", "target_tokens", "target_file"}));
  exclusions.push_back({"grid",
                        {"token_file", "sequences", "length", "seed", "consecutive", "lines",
                         "score_positions", "store", "target_file"},
                        "reports one row per token of a single text"});
  exclusions.push_back({"tuned_lens", {"store", "label"}, "changes what is decoded"});
  return {
      .name = "lens",
      .summary = "Decode each layer's residual stream (logit lens)",
      .examples =
          {{{"models", "examples/shakespeare-gpt2"}, {"text", "To be, or not to be"}, {"grid", ""}},
           {{"models", "examples/shakespeare-gpt2"},
            {"text", "To be, or not to be"},
            {"grid", ""},
            {"top", "3"},
            {"format", "json"}},
           {{"models", "MODEL"}, {"text_file", "book.txt"}},
           {{"models", "MODEL"}, {"text_file", "en.txt"}, {"target_file", "de.txt"}},
           {{"models", "examples/shakespeare-gpt2"}, {"prompts", "examples/prompts.jsonl"}},
           {{"models", "MODEL"}, {"token_file", "val.bin"}, {"states", "resid_pre,resid_mid"}}},
      .parameters = joined(
          {remote_model_parameters(),
           text_parameters(),
           pair_parameters(),
           window_parameters(kScoredWindows),
           example_parameters(),
           {{.name = "states",
             .type = several,
             .help = "states to decode: before each layer (always), after its attention, or what "
                     "its attention or MLP alone adds",
             .metavariable = "WHICH",
             .choices = {"resid_pre", "resid_mid", "attn_out", "mlp_out"},
             .default_text = "resid_pre"},
            {.name = "tuned_lens",
             .type = file,
             .group = OptionGroup::input,
             .help = "translate the states before each layer with the tuned lens in this folder, "
                     "as saved by the Python package tuned-lens",
             .metavariable = "FOLDER"},
            {.name = "grid",
             .type = flag,
             .group = OptionGroup::mode,
             .help = "report the prediction of each state at each token of one text"},
            {.name = "top",
             .type = integer,
             .help = "with {grid}: number of most likely tokens to list",
             .metavariable = "K",
             .least = 1,
             .most = 1000,
             .default_text = "1"},
            label_parameter("classifiers: report the logit and probability of this label (name or "
                            "number) at each state"),
            prompts_parameter("report how much each state prefers the correct answer to prompts")},
           run_parameters(),
           device_parameters(),
           {store_parameter(), edits_parameter()},
           output_parameters()}),
      .exclusions = std::move(exclusions),
      .analyses = {&lens_analysis()},
      .run = run_lens_command};
}

}  // namespace attnscope
