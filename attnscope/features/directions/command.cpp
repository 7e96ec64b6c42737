#include "attnscope/features/directions/run.h"

#include <algorithm>

#include "attnscope/base/error.h"
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

/// No token's embedding says what an encoder gives, which is what cross attention looks at.
void leave_out_cross_attention(std::vector<Model>& models, RowSink& sink) {
  const auto across = [](const Model& model) { return model.stack() == "cross"; };
  if (std::all_of(models.begin(), models.end(), across)) {
    throw Error(ErrorKind::unsupported,
                {.parameter = "stack",
                 .problem = verbatim(models.front().name()) +
                            " looks at what its encoder gives, which no tokens name"});
  }
  for (const Model& model : models) {
    if (!across(model)) continue;
    sink.add_note(verbatim(model.name()) + ": left out: no tokens name what its encoder gives");
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
    throw Error(ErrorKind::usage,
                {.parameter = "head", .problem = "only ov and qk are taken apart by heads"});
  }
  for (const Model& model : models) {
    if (of_heads || model.describes(request.matrix)) continue;
    throw Error(ErrorKind::usage, {.parameter = "matrix",
                                   .problem = model.name() + " has no '" +
                                              std::string(role_name(request.matrix)) + "'"});
  }
  if (request.copying && request.matrix != Role::ov) {
    throw Error(ErrorKind::usage, {.parameter = "copying", .problem = "is of ov"});
  }
  const auto pairs = arguments.integer("pairs");
  if (!pairs) {
    request.texts = texts_to_read(arguments, session, models, sink);
    return run_directions(models, request, session.context, sink);
  }
  if (!of_heads) {
    throw Error(ErrorKind::usage, {.parameter = "pairs", .problem = "are of ov or qk"});
  }
  run_direction_pairs(models, {.of = request, .count = *pairs}, session.context, sink);
}

Parameters read_parameters() {
  return {{.name = "matrix",
           .type = role,
           .help = "whose directions; ov and qk of each head, the others of each layer",
           .metavariable = "MATRIX",
           .choices = {"ov", "qk", "o", "up", "gate", "down"},
           .default_text = "ov"},
          {.name = "head",
           .type = integer,
           .help = "of ov and qk, one head",
           .metavariable = "H",
           .least = 0,
           .most = kMaxSize,
           .default_words = "all"},
          {.name = "directions",
           .type = integer,
           .help = "the leading ones of each",
           .metavariable = "N",
           .least = 1,
           .most = kMostDirections,
           .default_text = "3"},
          {.name = "top",
           .type = integer,
           .help = "tokens of each list",
           .metavariable = "K",
           .least = 1,
           .most = kMostDirections,
           .default_text = "10"},
          {.name = "names",
           .type = choice,
           .help = "inputs named by tokens' embeddings, or by those and the first MLP's output",
           .metavariable = "WHICH",
           .choices = {"auto", "embedding", "mlp0"},
           .default_text = "auto",
           .default_words = "auto, the first of layer 0 and the second of others"},
          {.name = "all_tokens", .type = flag, .help = "let tokens name that training never saw"},
          {.name = "copying",
           .type = flag,
           .help = "of ov, whether each head's circuit raises the tokens that it reads"},
          {.name = "pairs",
           .type = integer,
           .help = "instead: of one head, the pairs of tokens that it joins most strongly",
           .metavariable = "N",
           .least = 1,
           .most = kMostDirections}};
}

/// Those of texts, which it takes to see whether names hold.
Parameters read_text_parameters() {
  Parameters parameters = joined(
      {text_parameters(), window_parameters(kScoredWindows), {example_parameters().front()}});
  for (Parameter& parameter : parameters) {
    if (parameter.name != "text") continue;
    parameter.help = "a text, on which to see how far what is read goes with the tokens named";
  }
  return parameters;
}

std::vector<Exclusion> read_exclusions() {
  std::vector<Exclusion> exclusions = joined_exclusions(text_exclusions(/*with_windows=*/true),
                                                        example_exclusions(/*with_windows=*/true));
  exclusions.push_back(
      {"pairs",
       {"directions", "top", "copying", "text", "text_file", "tokens", "token_file", "lines"},
       "joins tokens, not directions"});
  return exclusions;
}

}  // namespace

Command read_command() {
  return {.name = "directions",
          .summary = "what the directions of heads and matrices mean as tokens, and when nothing",
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
                                  .help = "layers, such as 0-3,-4-, where a negative number counts "
                                          "from the end",
                                  .metavariable = "LAYERS",
                                  .default_words = "all"}},
                                read_parameters(),
                                read_text_parameters(),
                                run_parameters(),
                                output_parameters()}),
          .exclusions = read_exclusions(),
          .run = run_read_command};
}

}  // namespace attnscope
