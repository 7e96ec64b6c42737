#include "attnscope/features/predict/run.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string_view>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/common/options/device_options.h"
#include "attnscope/features/common/options/edits_option.h"
#include "attnscope/features/common/options/example_options.h"
#include "attnscope/features/common/options/label_option.h"
#include "attnscope/features/common/options/media_options.h"
#include "attnscope/features/common/options/prompts_file.h"
#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/common/options/target_options.h"
#include "attnscope/features/common/options/target_stacks.h"
#include "attnscope/features/common/options/text_options.h"
#include "attnscope/features/framework/open_models.h"
#include "attnscope/features/framework/session.h"
#include "attnscope/features/predict/activation_options.h"
#include "attnscope/features/predict/attribution_run.h"
#include "attnscope/features/predict/label_run.h"
#include "attnscope/features/predict/media_command.h"
#include "attnscope/features/predict/named_token.h"
#include "attnscope/features/predict/perplexity_run.h"
#include "attnscope/features/predict/saved_tensors.h"
#include "attnscope/forward/generation/decoder_prompt.h"

namespace attnscope {
namespace {

using enum ParameterType;

constexpr std::int64_t kMaxPromptTokens = 1'000'000;

/// The input of a model. For an encoder-decoder, the text or audio is the source.
Prompt prompt_of(const Arguments& arguments, const Session& session, const Model& model,
                 const TokenizedText& text) {
  Prompt prompt{.tokens = text.tokens, .tokenizer = text.tokenizer ? &*text.tokenizer : nullptr};
  if (!needs_target(model)) return prompt;
  prompt.source = std::move(prompt.tokens);
  if (!named_media_parameter(arguments).empty())
    prompt.audio = media_input_of(arguments, session, model);
  if (const auto target = given_target(arguments, model, prompt.tokenizer)) {
    prompt.tokens = *target;
    return prompt;
  }
  start_token(model);  // throws an error with a hint if there is none
  DecoderPrompt own = decoder_prompt(model);
  prompt.tokens = std::move(own.tokens);
  prompt.languages = std::move(own.languages);
  return prompt;
}

/// The prompts of all texts of a model.
std::vector<Prompt> prompts_of(const Arguments& arguments, const Session& session,
                               const Model& model, const TokenizedText& text) {
  std::vector<Prompt> prompts;
  prompts.push_back(prompt_of(arguments, session, model, text));
  for (const TokenIds& tokens : text.more_texts) {
    prompts.push_back({.tokens = tokens, .tokenizer = prompts.front().tokenizer});
  }
  return prompts;
}

/// Throws Error(usage) for several texts in a run that takes one.
void check_single_text(const Arguments& arguments, const std::vector<Model>& models,
                       const TokenizedText& text) {
  if (text.more_texts.empty()) return;
  const auto refuse = [&](const std::string& problem) {
    const char* parameter = arguments.given("tokens") ? "tokens"
                            : arguments.given("chat") ? "chat"
                                                      : "text";
    throw Error(ErrorKind::usage, {.parameter = parameter, .problem = problem});
  };
  for (const char* name : {"generate", "save", "attribution"}) {
    if (name == std::string_view("save") && arguments.given("activations")) continue;
    if (arguments.given(name))
      refuse("given several times, but {" + std::string(name) + "} takes one text");
  }
  if (std::any_of(models.begin(), models.end(), needs_target)) {
    refuse("given several times, but an encoder-decoder takes one source text");
  }
}

/// The text of each model; no text if the input is an image or audio.
std::deque<TokenizedText> texts_of(const Arguments& arguments, const Session& session,
                                   const std::vector<Model>& models) {
  std::deque<TokenizedText> texts;
  const bool hears = !named_media_parameter(arguments).empty();
  for (const Model& model : models) {
    texts.push_back(hears ? shown_tokens_of(model) : tokenized_texts(arguments, session, model));
    if (hears) texts.back().source = media_source(arguments);
  }
  return texts;
}

void run_perplexity_of(const Arguments& arguments, const Session& session,
                       const std::vector<Model>& models, std::deque<TokenizedText> texts,
                       const Context& context, RowSink& sink) {
  PerplexityRequest request{.text = {{"source", texts.front().source}},
                            .stride = arguments.integer("stride")};
  const ScorePositions positions(arguments, session);
  const bool lines = arguments.flag("lines");
  for (std::size_t index = 0; index < models.size(); ++index) {
    std::vector<TokenIds> examples;
    if (lines) {
      examples = line_examples(text_to_encode(arguments, session), *texts[index].tokenizer,
                               !arguments.flag("no_special_tokens"));
    } else {
      examples.push_back(std::move(texts[index].tokens));
      for (TokenIds& more : texts[index].more_texts) examples.push_back(std::move(more));
    }
    ScoredTokens scored;
    if (positions.given()) {
      positions.check_examples(examples);
      for (std::size_t at = 0; at < examples.size(); ++at) {
        scored.push_back(positions.of(at, std::ssize(examples[at])));
      }
      check_scored(scored, /*writes=*/true);
    }
    if (lines) leave_out_single_tokens(models[index].name(), examples, scored, sink);
    request.texts.push_back(std::move(examples));
    request.scored.push_back(std::move(scored));
  }
  if (lines) request.text.add("lines", true);
  positions.add_to(request.text);
  run_perplexity(models, request, context, sink);
}

/// Checks that the options fit all models. Targets require encoder-decoders. With an image or
/// audio, only encoder-decoders generate text, and no other text is allowed.
std::vector<Model> checked_stacks(std::vector<Model> models, const Arguments& arguments) {
  const auto decoding = std::count_if(models.begin(), models.end(), needs_target);
  const bool reads_text = named_media_parameter(arguments).empty();
  for (const char* parameter : {"target", "target_tokens", "target_file", "generate"}) {
    if (!arguments.given(parameter) || decoding == std::ssize(models)) continue;
    if (reads_text && parameter == std::string_view("generate")) continue;
    const auto other = std::find_if_not(models.begin(), models.end(), needs_target);
    throw Error(ErrorKind::usage,
                {.parameter = parameter,
                 .problem = verbatim("requires an encoder-decoder model; " + other->name() +
                                     " is not a decoder with an encoder")});
  }
  for (const char* parameter : {"text", "text_file", "chat"}) {
    if (reads_text || decoding == 0 || !arguments.given(parameter)) continue;
    throw Error(ErrorKind::usage, {.parameter = parameter,
                                   .problem = "cannot be combined with an image or audio "
                                              "input"});
  }
  if (!reads_text && decoding > 0 && decoding < std::ssize(models)) {
    throw Error(ErrorKind::usage,
                {.parameter = named_media_parameter(arguments),
                 .problem = "only some of these models generate text from this input",
                 .hint = "run the models separately"});
  }
  if (arguments.flag("perplexity") && decoding > 0 && decoding < std::ssize(models)) {
    throw Error(ErrorKind::usage,
                {.parameter = "perplexity",
                 .problem = "encoder-decoders need target texts, but other models do not: run them "
                            "separately"});
  }
  return models;
}

/// Perplexity of targets given their sources: either one pair, or the lines of two files.
void run_target_perplexity_of(const Arguments& arguments, const Session& session,
                              const std::vector<Model>& models, const Context& context,
                              RowSink& sink) {
  if (arguments.given("stride")) {
    throw Error(ErrorKind::usage, {.parameter = "stride",
                                   .problem = "does not apply to targets: each target is run "
                                              "as a whole"});
  }
  TargetPerplexityRequest request;
  const ScorePositions positions(arguments, session);
  for (const Model& model : models) {
    TargetTexts texts = target_texts(arguments, session, model);
    request.text = {{"source", texts.source}};
    if (positions.given()) request.scored.push_back(target_flags(texts.pairs, positions));
    request.pairs.push_back(std::move(texts.pairs));
  }
  positions.add_to(request.text);
  run_target_perplexity(models, request, context, sink);
}

void run_attribution_of(const Arguments& arguments, const std::vector<Model>& models,
                        const std::deque<TokenizedText>& texts, const Context& context,
                        RowSink& sink) {
  AttributionRequest request{.text = {{"source", texts.front().source}}};
  if (arguments.given("label")) {
    request.labels = {.label = arguments.text("label"), .against = arguments.text("against")};
    for (const TokenizedText& text : texts) {
      request.prompts.push_back(
          {.tokens = text.tokens, .tokenizer = text.tokenizer ? &*text.tokenizer : nullptr});
    }
    return run_attribution(models, request, context, sink);
  }
  for (std::size_t index = 0; index < models.size(); ++index) {
    const TokenizedText& text = texts[index];
    const Tokenizer* tokenizer = text.tokenizer ? &*text.tokenizer : nullptr;
    const Model& model = models[index];
    request.prompts.push_back({.tokens = text.tokens, .tokenizer = tokenizer});
    request.asked.push_back({.token = named_token(arguments, "token", model, tokenizer, sink),
                             .against = named_token(arguments, "against", model, tokenizer, sink)});
  }
  run_attribution(models, request, context, sink);
}

void run_predict_command(const Arguments& arguments, const Session& session, RowSink& sink) {
  const std::vector<Model> opened = open_models(arguments, session);
  std::vector<Model> models = opened;
  keep_media_models(arguments, models);
  models = checked_stacks(without_helping_stacks(std::move(models)), arguments);
  const EditingContext context(arguments, session, session.context);
  if (!named_media_parameter(arguments).empty() && !needs_target(models.front())) {
    return run_on_media(arguments, session, models, opened, context, sink);
  }
  if (models.size() > 1 && arguments.given("save")) {
    throw Error(ErrorKind::usage, {.parameter = "save",
                                   .problem = "expected one model: a .safetensors file stores a "
                                              "single run"});
  }
  for (const char* name : {"lines", "score_positions"}) {
    if (!arguments.given(name) || arguments.flag("perplexity")) continue;
    throw Error(ErrorKind::usage, {.parameter = name, .problem = "requires {perplexity}"});
  }
  if (arguments.flag("perplexity") && needs_target(models.front())) {
    return run_target_perplexity_of(arguments, session, models, context, sink);
  }
  if (arguments.given("prompts")) {
    if (arguments.flag("attribution")) {
      return run_attribution_prompts(models, prompts_request(arguments, session, models), context,
                                     sink);
    }
    throw Error(ErrorKind::usage, {.parameter = "prompts", .problem = "requires {attribution}"});
  }
  const std::optional<NamedActivations> activations = activation_request(arguments);
  std::deque<TokenizedText> texts = texts_of(arguments, session, models);
  for (const TokenizedText& text : texts) {
    if (!text.unknown_note.empty()) sink.add_note(text.unknown_note);
  }
  check_single_text(arguments, models, texts.front());
  if (arguments.flag("perplexity")) {
    return run_perplexity_of(arguments, session, models, std::move(texts), context, sink);
  }
  if (arguments.given("against") && !arguments.given("token") && !arguments.given("label")) {
    throw Error(ErrorKind::usage,
                {.parameter = "against", .problem = "requires {token} or {label}"});
  }
  if (arguments.given("label") && !arguments.flag("attribution")) {
    throw Error(ErrorKind::usage, {.parameter = "label", .problem = "requires {attribution}"});
  }
  if (arguments.flag("attribution")) {
    return run_attribution_of(arguments, models, texts, context, sink);
  }
  if (arguments.given("token")) sink.add_note("{token} has no effect without {attribution}");
  PredictRequest request{.text = {{"source", texts.front().source}},
                         .top = *arguments.integer("top"),
                         .generate = arguments.integer("generate")};
  for (std::size_t index = 0; index < models.size(); ++index) {
    request.prompts.push_back(prompts_of(arguments, session, models[index], texts[index]));
    if (!texts[index].note.empty()) sink.add_note(texts[index].note);
  }
  std::optional<SavedRun> saved;
  std::optional<SavedActivations> saved_activations;
  PromptWatcher watcher;
  if (activations) {
    saved_activations.emplace(*activations, request.prompts.front(),
                              open_output(arguments, session, "save"));
    watcher = saved_activations->watcher();
    request.watcher = &watcher;
  } else if (arguments.given("save")) {
    saved.emplace(request.prompts.front().front(), open_output(arguments, session, "save"));
    watcher = saved->watcher();
    request.watcher = &watcher;
  }
  if (predict_labels(models)) {
    if (request.generate) {
      throw Error(ErrorKind::usage,
                  {.parameter = "generate",
                   .problem = "requires a language model, but " + verbatim(models.front().name()) +
                              " is a classifier"});
    }
    return run_label_prediction(models, request, context, sink);
  }
  if (models.size() == 1) request.on_text = session.on_text;
  run_predict(models, request, context, sink);
}

Parameters predict_parameters() {
  return {
      {.name = "top",
       .type = integer,
       .help = "number of most likely tokens",
       .metavariable = "K",
       .least = 1,
       .most = kMaxPromptTokens,
       .default_text = "5"},
      {.name = "generate",
       .type = integer,
       .group = OptionGroup::mode,
       .help = "generate up to N tokens after the text with greedy decoding",
       .metavariable = "N",
       .least = 1,
       .most = kMaxPromptTokens},
      {.name = "perplexity",
       .type = flag,
       .group = OptionGroup::mode,
       .help = "measure perplexity on the text, in windows of the context length"},
      {.name = "stride",
       .type = integer,
       .help = "tokens between window starts; if windows overlap, only new tokens count",
       .metavariable = "N",
       .least = 1,
       .most = kMaxSize,
       .default_words = "the context length"},
      {.name = "attribution",
       .type = flag,
       .group = OptionGroup::mode,
       .help = "direct logit attribution: the effect of each component on the logits of the next "
               "tokens"},
      {.name = "token",
       .type = text,
       .help = "with {attribution}: attribute the logit of this token (text or id) as the next "
               "token after the text",
       .metavariable = "TOKEN"},
      label_parameter(
          "with {attribution}, for classifiers: attribute the logit of this label (name "
          "or number)"),
      {.name = "against",
       .type = text,
       .help = "attribute the logit of {token} (or {label}) minus the logit of this token (or "
               "label)",
       .metavariable = "TOKEN"},
      prompts_parameter("with {attribution}: attribute the logit difference between the correct "
                        "and the incorrect answer to prompts"),
      {.name = "target_file",
       .type = file,
       .group = OptionGroup::input,
       .help = "with {perplexity}: target texts, one per line of {text_file}",
       .metavariable = "FILE"},
      {.name = "save",
       .type = file,
       .group = OptionGroup::output,
       .help = "write tokens, attention maps, hidden states and logits to this .safetensors file",
       .metavariable = "FILE",
       .use = FileUse::written,
       .endings = {".safetensors"}}};
}

}  // namespace

Command predict_command() {
  return {
      .name = "predict",
      .summary = "Predict tokens or image labels; measure perplexity",
      .examples = {{{"models", "MODEL"}, {"text", "Once upon a time"}, {"generate", "40"}},
                   {{"models", "MODEL"}, {"text", "Paris is the [MASK] of France."}},
                   {{"models", "MODEL"}, {"text_file", "examples/README.md"}, {"perplexity", ""}},
                   {{"models", "MODEL"},
                    {"text", "To be, or not to"},
                    {"attribution", ""},
                    {"token", " be"},
                    {"against", " the"}},
                   {{"models", "examples/shakespeare-gpt2"},
                    {"attribution", ""},
                    {"prompts", "examples/prompts.jsonl"}},
                   {{"models", "MODEL"}, {"tokens", "46,32,90"}, {"save", "run.safetensors"}},
                   {{"models", "MODEL"},
                    {"text", "To be"},
                    {"activations", "resid_post,z"},
                    {"save", "run.safetensors"}},
                   {{"models", "MODEL"}, {"image", "cat.jpg"}},
                   {{"models", "CLIP"}, {"image", "cat.jpg"}, {"text_file", "texts.txt"}},
                   {{"models", "MODEL"},
                    {"text", "translate English to German: Good night."},
                    {"generate", "20"}}},
      .parameters = joined({remote_model_parameters(),
                            text_parameters(),
                            target_parameters(),
                            media_parameters(),
                            example_parameters(),
                            predict_parameters(),
                            activation_parameters(),
                            {edits_parameter()},
                            run_parameters(),
                            device_parameters(/*chooses_dtype=*/false),
                            output_parameters()}),
      .exclusions = joined_exclusions(
          joined_exclusions(media_exclusions({"tokens", "text_pair", "token_types", "perplexity",
                                              "stride", "target_file", "lines", "score_positions"}),
                            joined_exclusions(text_exclusions(/*with_windows=*/false),
                                              example_exclusions(/*with_windows=*/false))),
          joined_exclusions(
              pair_exclusions(/*with_windows=*/false),
              {{"perplexity",
                {"top", "generate", "save", "text_pair", "token_types"},
                "measures the whole text"},
               {"label",
                {"token", "prompts", "perplexity", "generate"},
                "analyzes the logit of a label"},
               prompts_exclusion({"token", "against", "image", "pixel_values", "audio", "features",
                                  "target", "target_tokens", "target_file"}),
               {"activations",
                {"image", "pixel_values", "perplexity", "attribution"},
                "saves the run of a text"},
               {"attribution",
                {"perplexity", "stride", "top", "generate", "save", "image", "pixel_values",
                 "audio", "features", "target", "target_tokens", "target_file"},
                "attributes logits of a text"}})),
      .run = run_predict_command};
}

}  // namespace attnscope
