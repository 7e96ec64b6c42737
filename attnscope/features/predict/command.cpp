#include "attnscope/features/predict/run.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string_view>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/common/options/example_options.h"
#include "attnscope/features/common/options/media_options.h"
#include "attnscope/features/common/options/one_token.h"
#include "attnscope/features/common/options/prompts_file.h"
#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/common/options/target_options.h"
#include "attnscope/features/common/options/target_stacks.h"
#include "attnscope/features/common/options/text_options.h"
#include "attnscope/features/framework/open_models.h"
#include "attnscope/features/framework/session.h"
#include "attnscope/features/predict/attribution_run.h"
#include "attnscope/features/predict/media_command.h"
#include "attnscope/features/predict/perplexity_run.h"
#include "attnscope/features/predict/saved_tensors.h"
#include "attnscope/forward/generation/decoder_prompt.h"

namespace attnscope {
namespace {

using enum ParameterType;

constexpr std::int64_t kMaxPromptTokens = 1'000'000;

/// What a model is run on: of an encoder-decoder the text, or sound, is its source.
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
  start_token(model);  // says what to do where there is none
  DecoderPrompt own = decoder_prompt(model);
  prompt.tokens = std::move(own.tokens);
  prompt.languages = std::move(own.languages);
  return prompt;
}

/// The text of each model; none where it hears.
std::deque<TokenizedText> texts_of(const Arguments& arguments, const Session& session,
                                   const std::vector<Model>& models) {
  std::deque<TokenizedText> texts;
  const bool hears = !named_media_parameter(arguments).empty();
  for (const Model& model : models) {
    texts.push_back(hears ? shown_tokens_of(model) : tokenized_text(arguments, session, model));
    if (hears) texts.back().source = media_source(arguments);
  }
  return texts;
}

void run_perplexity_of(const Arguments& arguments, const Session& session,
                       const std::vector<Model>& models, std::deque<TokenizedText> texts,
                       RowSink& sink) {
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
  run_perplexity(models, request, session.context, sink);
}

/// Either all models decode what an encoder reads, or none does and there is no target. Where they
/// hear or see, only decoders write; and there is no other text.
std::vector<Model> checked_stacks(std::vector<Model> models, const Arguments& arguments) {
  const auto decoding = std::count_if(models.begin(), models.end(), needs_target);
  const bool reads_text = named_media_parameter(arguments).empty();
  for (const char* parameter : {"target", "target_tokens", "target_file", "generate"}) {
    if (!arguments.given(parameter) || decoding == std::ssize(models)) continue;
    if (reads_text && parameter == std::string_view("generate")) continue;
    const auto other = std::find_if_not(models.begin(), models.end(), needs_target);
    throw Error(ErrorKind::usage,
                {.parameter = parameter,
                 .problem = verbatim("is for encoder-decoders, and " + other->name() +
                                     " is no decoder with an encoder")});
  }
  for (const char* parameter : {"text", "text_file"}) {
    if (reads_text || decoding == 0 || !arguments.given(parameter)) continue;
    throw Error(ErrorKind::usage,
                {.parameter = parameter, .problem = "has no meaning with an image or sound"});
  }
  if (!reads_text && decoding > 0 && decoding < std::ssize(models)) {
    throw Error(ErrorKind::usage,
                {.parameter = named_media_parameter(arguments),
                 .problem = "is written down by some of these models and not by others",
                 .hint = "run them apart"});
  }
  if (arguments.flag("perplexity") && decoding > 0 && decoding < std::ssize(models)) {
    throw Error(ErrorKind::usage,
                {.parameter = "perplexity",
                 .problem = "of encoder-decoders needs targets, which other models have none of"});
  }
  return models;
}

/// Targets given their sources: of two files line by line, or one of each.
void run_target_perplexity_of(const Arguments& arguments, const Session& session,
                              const std::vector<Model>& models, RowSink& sink) {
  if (arguments.given("stride")) {
    throw Error(ErrorKind::usage,
                {.parameter = "stride", .problem = "is of windows, and each target is run whole"});
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
  run_target_perplexity(models, request, session.context, sink);
}

/// The token of a parameter: by its id, or by its text.
std::optional<std::int64_t> named_token(const Arguments& arguments, const char* parameter,
                                        const Model& model, const Tokenizer* tokenizer,
                                        RowSink& sink) {
  if (!arguments.given(parameter)) return {};
  const std::string text = arguments.text(parameter);
  if (const auto id = id_of_digits(text)) {
    const auto vocabulary = model.dimensions().vocabulary;
    if (vocabulary && *id >= *vocabulary) {
      throw Error(ErrorKind::usage,
                  {.parameter = parameter,
                   .problem = "token id " + text + " is not in the vocabulary of " +
                              verbatim(model.name()) + ", expected 0 to " +
                              std::to_string(*vocabulary - 1)});
    }
    const auto other = tokenizer == nullptr ? std::nullopt : one_token_of(*tokenizer, text, "").id;
    if (other && other != id) {
      sink.add_note("{" + std::string(parameter) + "} " + text + " is a token id; the text '" +
                    text + "' has the id " + std::to_string(*other));
    }
    return id;
  }
  std::optional<Tokenizer> own;
  if (tokenizer == nullptr) tokenizer = &own.emplace(tokenizer_of(model));
  const OneToken found = one_token_of(*tokenizer, text, model.name());
  if (!found.id) {
    throw Error(ErrorKind::usage, {.parameter = parameter,
                                   .problem = verbatim(found.problem),
                                   .hint = found.hint.empty() ? "or give a token id" : found.hint});
  }
  if (!found.note.empty())
    sink.add_note("{" + std::string(parameter) + "}: " + verbatim(found.note));
  return found.id;
}

void run_attribution_of(const Arguments& arguments, const std::vector<Model>& models,
                        const std::deque<TokenizedText>& texts, const Context& context,
                        RowSink& sink) {
  AttributionRequest request{.text = {{"source", texts.front().source}}};
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
  if (!named_media_parameter(arguments).empty() && !needs_target(models.front())) {
    return run_on_media(arguments, session, models, opened, sink);
  }
  if (models.size() > 1 && arguments.given("save")) {
    throw Error(ErrorKind::usage,
                {.parameter = "save", .problem = "a .safetensors file holds the run of one model"});
  }
  for (const char* name : {"lines", "score_positions"}) {
    if (!arguments.given(name) || arguments.flag("perplexity")) continue;
    throw Error(ErrorKind::usage, {.parameter = name, .problem = "needs {perplexity}"});
  }
  if (arguments.flag("perplexity") && needs_target(models.front())) {
    return run_target_perplexity_of(arguments, session, models, sink);
  }
  if (arguments.given("prompts")) {
    if (arguments.flag("attribution")) {
      return run_attribution_prompts(models, prompts_request(arguments, session, models),
                                     session.context, sink);
    }
    throw Error(ErrorKind::usage, {.parameter = "prompts", .problem = "needs {attribution}"});
  }
  std::deque<TokenizedText> texts = texts_of(arguments, session, models);
  for (const TokenizedText& text : texts) {
    if (!text.unknown_note.empty()) sink.add_note(text.unknown_note);
  }
  if (arguments.flag("perplexity")) {
    return run_perplexity_of(arguments, session, models, std::move(texts), sink);
  }
  if (arguments.given("against") && !arguments.given("token")) {
    throw Error(ErrorKind::usage, {.parameter = "against", .problem = "needs {token}"});
  }
  if (arguments.flag("attribution")) {
    return run_attribution_of(arguments, models, texts, session.context, sink);
  }
  if (arguments.given("token")) sink.add_note("{token} has no effect without {attribution}");
  PredictRequest request{.text = {{"source", texts.front().source}},
                         .top = *arguments.integer("top"),
                         .generate = arguments.integer("generate")};
  for (std::size_t index = 0; index < models.size(); ++index) {
    request.prompts.push_back(prompt_of(arguments, session, models[index], texts[index]));
    if (!texts[index].note.empty()) sink.add_note(texts[index].note);
  }
  std::optional<SavedRun> saved;
  PromptWatcher watcher;
  if (arguments.given("save")) {
    saved.emplace(request.prompts.front(), open_output(arguments, session, "save"));
    watcher = saved->watcher();
    request.watcher = &watcher;
  }
  if (models.size() == 1) request.on_text = session.on_text;
  run_predict(models, request, session.context, sink);
}

Parameters predict_parameters() {
  return {
      {.name = "top",
       .type = integer,
       .help = "how many of the likeliest tokens",
       .metavariable = "K",
       .least = 1,
       .most = kMaxPromptTokens,
       .default_text = "5"},
      {.name = "generate",
       .type = integer,
       .help = "write up to N tokens after the text, always the likeliest",
       .metavariable = "N",
       .least = 1,
       .most = kMaxPromptTokens},
      {.name = "perplexity",
       .type = flag,
       .help = "instead: how well the model foretells the text, in windows of its context"},
      {.name = "stride",
       .type = integer,
       .help = "tokens from one window to the next; where windows overlap, only new ones count",
       .metavariable = "N",
       .least = 1,
       .most = kMaxSize,
       .default_words = "the context"},
      {.name = "attribution",
       .type = flag,
       .help = "instead: what each part adds to the logits of the tokens that follow"},
      {.name = "token",
       .type = text,
       .help = "with {attribution}: to the logit of this token after the text; digits are an id",
       .metavariable = "TOKEN"},
      {.name = "against",
       .type = text,
       .help = "less that of this one, by its text or id",
       .metavariable = "TOKEN"},
      prompts_parameter("with {attribution}: to the right answer's logit less the wrong one's, of "
                        "prompts in JSON "
                        "lines"),
      {.name = "target_file",
       .type = file,
       .help = "of {perplexity}: a file of targets, line by line those of {text_file}",
       .metavariable = "FILE"},
      {.name = "save",
       .type = file,
       .help = "write tokens, attentions, hidden states and logits to this .safetensors file",
       .metavariable = "FILE",
       .use = FileUse::written,
       .endings = {".safetensors"}}};
}

}  // namespace

Command predict_command() {
  return {
      .name = "predict",
      .summary =
          "what comes next in a text, what fills a mask, how well a text is foretold, what an "
          "image shows",
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
                   {{"models", "MODEL"}, {"image", "cat.jpg"}},
                   {{"models", "CLIP"}, {"image", "cat.jpg"}, {"text_file", "texts.txt"}},
                   {{"models", "MODEL"},
                    {"text", "translate English to German: Good night."},
                    {"generate", "20"}}},
      .parameters = joined({remote_model_parameters(), text_parameters(), target_parameters(),
                            media_parameters(), example_parameters(), predict_parameters(),
                            run_parameters(), output_parameters()}),
      .exclusions = joined_exclusions(
          joined_exclusions(media_exclusions({"tokens", "perplexity", "stride", "target_file",
                                              "lines", "score_positions"}),
                            joined_exclusions(text_exclusions(/*with_windows=*/false),
                                              example_exclusions(/*with_windows=*/false))),
          joined_exclusions(
              pair_exclusions(/*with_windows=*/false),
              {{"perplexity", {"top", "generate", "save"}, "is of a whole text"},
               prompts_exclusion({"token", "against", "image", "pixel_values", "audio", "features",
                                  "target", "target_tokens", "target_file"}),
               {"attribution",
                {"perplexity", "stride", "top", "generate", "save", "image", "pixel_values",
                 "audio", "features", "target", "target_tokens", "target_file"},
                "takes logits apart"}})),
      .run = run_predict_command};
}

}  // namespace attnscope
