#include "attnscope/features/directions/run.h"

#include <algorithm>

#include "attnscope/base/error.h"
#include "attnscope/features/common/options/device_options.h"
#include "attnscope/features/common/options/example_options.h"
#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/common/options/text_options.h"
#include "attnscope/features/common/options/token_sequences.h"
#include "attnscope/features/directions/pairs_run.h"
#include "attnscope/features/framework/open_models.h"

namespace attnscope {
namespace {

using enum ParameterType;

constexpr std::int64_t kMostDirections = 100'000;

InputNames names_of(const std::string& name) {
  if (name == "embedding") return InputNames::embedding;
  return name == "mlp0" ? InputNames::mlp0 : InputNames::layer;
}

/// Removes cross-attention stacks: they read encoder outputs, which token embeddings do not
/// describe.
void leave_out_cross_attention(std::vector<Model>& models, RowSink& sink) {
  const auto across = [](const Model& model) { return model.stack() == "cross"; };
  if (std::all_of(models.begin(), models.end(), across)) {
    throw Error(ErrorKind::unsupported,
                {.parameter = "stack",
                 .problem = "does not support cross-attention: " + verbatim(models.front().name()) +
                            " reads encoder outputs, which have no token vectors"});
  }
  for (const Model& model : models) {
    if (!across(model)) continue;
    sink.add_note(verbatim(model.name()) + " skipped: encoder outputs have no token vectors");
  }
  std::erase_if(models, across);
}

std::optional<ReadTexts> texts_to_read(const Arguments& arguments, const Session& session,
                                       const std::vector<Model>& models, RowSink& sink) {
  if (!names_a_text(arguments)) {
    refuse_examples_without_text(arguments);
    return std::nullopt;
  }
  ReadTexts out;
  for (const Model& model : models) {
    TokenSequences found = token_sequences(arguments, session, model, kScoredWindows);
    if (!found.note.empty()) sink.add_note(std::move(found.note));
    out.parameters = std::move(found.parameters);
    out.sequences.push_back(std::move(found.of_model));
    out.sources.push_back(std::move(found.sources));
  }
  return out;
}

void run_read_command(const Arguments& arguments, const Session& session, RowSink& sink) {
  std::vector<Model> models = open_models(arguments, session);
  leave_out_cross_attention(models, sink);
  DirectionsRequest request{.matrix = *arguments.find<Role>("matrix"),
                            .layers = arguments.layers("layers"),
                            .head = arguments.integer("head"),
                            .directions = *arguments.integer("directions"),
                            .top = *arguments.integer("top"),
                            .names = names_of(arguments.text("names")),
                            .all_tokens = arguments.flag("all_tokens"),
                            .copying = arguments.flag("copying")};
  const bool of_heads = request.matrix == Role::ov || request.matrix == Role::qk;
  if (request.head && !of_heads) {
    throw Error(ErrorKind::usage, {.parameter = "head", .problem = "requires {matrix} ov or qk"});
  }
  for (const Model& model : models) {
    if (of_heads || model.describes(request.matrix)) continue;
    throw Error(ErrorKind::usage, {.parameter = "matrix",
                                   .problem = model.name() + " has no '" +
                                              std::string(role_name(request.matrix)) + "'"});
  }
  if (request.copying && request.matrix != Role::ov) {
    throw Error(ErrorKind::usage, {.parameter = "copying", .problem = "requires {matrix} ov"});
  }
  const auto pairs = arguments.integer("pairs");
  if (!pairs) {
    request.texts = texts_to_read(arguments, session, models, sink);
    return run_directions(models, request, session.context, sink);
  }
  if (!of_heads) {
    throw Error(ErrorKind::usage, {.parameter = "pairs", .problem = "requires {matrix} ov or qk"});
  }
  run_direction_pairs(models, {.of = request, .count = *pairs}, session.context, sink);
}

Parameters read_parameters() {
  return {
      {.name = "matrix",
       .type = role,
       .help = "matrix or circuit to decompose (ov, qk: one per head; others: one per layer)",
       .metavariable = "MATRIX",
       .choices = {"ov", "qk", "o", "up", "gate", "down"},
       .default_text = "ov"},
      {.name = "head",
       .type = integer,
       .help = "ov and qk: show only this head",
       .metavariable = "H",
       .least = 0,
       .most = kMaxSize,
       .default_words = "all"},
      {.name = "directions",
       .type = integer,
       .help = "number of top singular vectors per head or matrix",
       .metavariable = "N",
       .least = 1,
       .most = kMostDirections,
       .default_text = "3"},
      {.name = "top",
       .type = integer,
       .help = "number of top tokens per vector and sign",
       .metavariable = "K",
       .least = 1,
       .most = kMostDirections,
       .default_text = "10"},
      {.name = "names",
       .type = choice,
       .help = "token vectors for input directions: embeddings, or embeddings plus the output of "
               "the first MLP",
       .metavariable = "WHICH",
       .choices = {"auto", "embedding", "mlp0"},
       .default_text = "auto",
       .default_words = "auto, embedding in layer 0 and mlp0 in other layers"},
      {.name = "all_tokens", .type = flag, .help = "include untrained tokens"},
      {.name = "copying",
       .type = flag,
       .help = "ov: also compute the token copying score of each head"},
      {.name = "pairs",
       .type = integer,
       .group = OptionGroup::mode,
       .help = "show the N strongest token pairs of one head",
       .metavariable = "N",
       .least = 1,
       .most = kMostDirections}};
}

/// Text options, for testing input directions on a text.
Parameters read_text_parameters() {
  Parameters parameters = joined(
      {text_parameters(), window_parameters(kScoredWindows), {example_parameters().front()}});
  for (Parameter& parameter : parameters) {
    if (parameter.name != "text") continue;
    parameter.help = "text for testing whether input directions respond to their top tokens";
  }
  return parameters;
}

std::vector<Exclusion> read_exclusions() {
  std::vector<Exclusion> exclusions = joined_exclusions(text_exclusions(/*with_windows=*/true),
                                                        example_exclusions(/*with_windows=*/true));
  exclusions.push_back({"pairs",
                        {"directions", "top", "copying", "text", "text_pair", "text_file", "tokens",
                         "token_types", "token_file", "lines", "chat"},
                        "shows token pairs, not directions"});
  return exclusions;
}

}  // namespace

Command read_command() {
  return {
      .name = "directions",
      .summary = "Show the top tokens of each singular vector",
      .examples = {{{"models", "examples/shakespeare-llama"}, {"layers", "5"}},
                   {{"models", "MODEL"}, {"matrix", "qk"}, {"layers", "0"}, {"head", "2"}},
                   {{"models", "MODEL"}, {"text_file", "book.txt"}},
                   {{"models", "examples/shakespeare-gpt2"},
                    {"layers", "0"},
                    {"head", "0"},
                    {"pairs", "20"}},
                   {{"models", "MODEL"}, {"matrix", "down"}, {"format", "json"}}},
      .parameters = joined({remote_model_parameters(),
                            {{.name = "layers",
                              .type = layers,
                              .help = "layers, e.g. 0-3,-4-; negative numbers count from the end",
                              .metavariable = "LAYERS",
                              .default_words = "all"}},
                            read_parameters(),
                            read_text_parameters(),
                            run_parameters(),
                            device_parameters(),
                            output_parameters()}),
      .exclusions = read_exclusions(),
      .run = run_read_command};
}

}  // namespace attnscope
