#include "attnscope/features/attention/command.h"

#include <algorithm>

#include "attnscope/base/error.h"
#include "attnscope/features/attention/heatmap_run.h"
#include "attnscope/features/attention/induction_run.h"
#include "attnscope/features/attention/saved_maps.h"
#include "attnscope/features/common/matrix_items.h"
#include "attnscope/features/common/options/device_options.h"
#include "attnscope/features/common/options/edits_option.h"
#include "attnscope/features/common/options/example_options.h"
#include "attnscope/features/common/options/media_options.h"
#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/common/options/target_options.h"
#include "attnscope/features/common/options/target_stacks.h"
#include "attnscope/features/framework/open_models.h"
#include "attnscope/features/framework/session.h"
#include "attnscope/tensor/safetensors_writer.h"

namespace attnscope {
namespace {

using enum ParameterType;

double energy_of(const Arguments& arguments) {
  const std::vector<double> shares = arguments.shares("energy");
  if (shares.size() == 1) return shares.front();
  throw Error(ErrorKind::usage,
              {.parameter = "energy", .problem = "expected a single energy threshold"});
}

std::vector<std::string> shown(const Tokenizer& tokenizer, const std::vector<TokenIds>& one) {
  std::vector<std::string> texts;
  for (const TokenIds& ids : one) {
    for (const std::int64_t id : ids) texts.push_back(tokenizer.text(id, Spaces::visible));
  }
  return texts;
}

void keep_first(ShownTokens& tokens) {
  const auto cut = [](auto& list) { list.resize(std::min(list.size(), std::size_t{1})); };
  cut(tokens.ids);
  cut(tokens.source);
  cut(tokens.media_input);
}

/// Draws the map of the first sequence of each model.
void run_heatmap_of(const Arguments& arguments, const Session& session,
                    const std::vector<Model>& models, const Context& context, RowSink& sink) {
  AttentionMapRequest request{.place = *arguments.find<HeadIndex>("heatmap"),
                              .log_scale = arguments.flag("log")};
  for (const Model& model : models) {
    TokenSequences found = model_sequences(arguments, session, model, {.sequences = 1});
    if (!found.note.empty()) sink.add_note(std::move(found.note));
    request.text = std::move(found.parameters);
    ShownTokens& tokens = request.tokens.emplace_back();
    tokens.ids = std::move(found.of_model);
    tokens.source = std::move(found.sources);
    tokens.media_input = std::move(found.media_inputs);
    keep_first(tokens);
    const TokenizedText names = shown_tokens_of(model);
    if (!names.note.empty()) sink.add_note(std::string(names.note));
    if (!names.tokenizer) continue;
    tokens.texts = shown(*names.tokenizer, tokens.ids);
    tokens.source_texts = shown(*names.tokenizer, tokens.source);
  }
  run_attention_map(models, request, context, sink);
}

/// Throws Error(usage) if the maps to average differ in size.
void check_one_length(const BatchInputs& inputs) {
  for (const auto& sequences : {inputs.tokens, inputs.sources}) {
    for (const TokenIds& ids : sequences) {
      if (ids.size() == sequences.front().size()) continue;
      throw Error(ErrorKind::usage, {.parameter = "maps_of",
                                     .problem = "mean requires sequences of equal length",
                                     .hint = "pass {maps_of} first"});
    }
  }
}

/// Calls run_attention() for one model and writes its maps, (layers, H, T, T) or (layers, H, T, S),
/// to a file. The file also has the layer indices and the token ids, if any.
void run_saving_maps(const Arguments& arguments, const Session& session, const Model& model,
                     const AttentionRequest& request, const Context& context, RowSink& sink) {
  const SavedMapsRequest maps_request{.sequences = request.sequences.front(),
                                      .layers = attention_layers(request.layers, model),
                                      .mean = arguments.text("maps_of") == "mean",
                                      .sources = request.sources.front(),
                                      .media_inputs = request.media_inputs.front()};
  maps_request.check_layers(model);
  const std::int64_t layers = std::ssize(maps_request.layers), heads = maps_request.heads(model),
                     length = maps_request.map_rows(model);
  const BatchInputs shown = maps_request.inputs();
  check_one_length(shown);
  std::vector<SavedTensor> tensors = {{.name = "layers", .type = DType::i64, .shape = {layers}}};
  const auto add_ids = [&](const char* name, std::span<const TokenIds> sequences) {
    if (sequences.empty()) return;
    tensors.push_back({.name = name,
                       .type = DType::i64,
                       .shape = {std::ssize(sequences), std::ssize(sequences.front())}});
  };
  add_ids("tokens", shown.tokens);
  add_ids("source_tokens", shown.sources);
  // Which text of a pair each token belongs to.
  const std::vector<std::int64_t> texts =
      shown.tokens.empty() ? std::vector<std::int64_t>() : shown.tokens.front().texts;
  if (!texts.empty()) {
    tensors.push_back({.name = "pair_texts", .type = DType::i64, .shape = {std::ssize(texts)}});
  }
  tensors.push_back(
      {.name = "attentions", .shape = {layers, heads, length, maps_request.map_columns(model)}});
  SafetensorsWriter file(std::move(tensors), open_output(arguments, session, "maps"));
  file.write(maps_request.layers);
  for (const auto& sequences : {shown.tokens, shown.sources}) {
    for (const TokenIds& sequence : sequences) file.write(sequence);
  }
  if (!texts.empty()) file.write(texts);
  const auto take = [&](std::span<const float> maps) { file.write(maps); };
  const std::span<const Model> models(&model, 1);
  if (maps_request.mean) {
    visit_saved_maps(model, maps_request, context, take);
    run_attention(models, request, context, sink);
  } else {
    SavedMaps saved(model, maps_request);
    run_attention(models, request, saved.watching(context), sink);
    saved.give(context, take);
  }
  file.end();
}

void run_attention_command(const Arguments& arguments, const Session& session, RowSink& sink) {
  AttentionRequest request = attention_request(arguments);
  std::vector<Model> models = open_models(arguments, session);
  if (arguments.flag("induction")) {
    check_repeats_tokens(models);
  } else {
    keep_media_models(arguments, models);
    models = stacks_with_targets(std::move(models), arguments, sink);
  }
  if (arguments.given("maps") && models.size() > 1) {
    const bool stacks = !models.front().stack().empty();
    throw Error(ErrorKind::usage, {.parameter = "maps",
                                   .problem = "saves the maps of a single model",
                                   .hint = stacks ? "select one with {stack}" : ""});
  }
  const StoringContext storing(arguments, session);
  const EditingContext context(arguments, session, storing);
  if (arguments.flag("induction")) {
    return run_induction(models, induction_request(arguments), context, sink);
  }
  if (arguments.flag("log") && !arguments.given("heatmap")) {
    sink.add_note("{log} has no effect without {heatmap}");
  }
  if (arguments.given("maps_of") && !arguments.given("maps")) {
    sink.add_note("{maps_of} has no effect without {maps}");
  }
  if (arguments.given("heatmap")) {
    return run_heatmap_of(arguments, session, models, context, sink);
  }
  for (const Model& model : models) {
    add_sequences(request, model_sequences(arguments, session, model), sink);
  }
  if (arguments.given("maps")) {
    return run_saving_maps(arguments, session, models.front(), request, context, sink);
  }
  run_attention(models, request, context, sink);
}

/// Options that images and audio exclude.
const std::vector<std::string> kOfTexts = {
    "text",   "text_pair", "token_types", "text_file", "tokens",          "token_file", "sequences",
    "length", "seed",      "consecutive", "lines",     "score_positions", "chat"};

Parameters attention_parameters() {
  return {energy_parameter({0.9}),
          {.name = "exclude_first_token",
           .type = flag,
           .help = "exclude the first token, usually an attention sink, from energy ranks and "
                   "energy_columns"},
          {.name = "induction",
           .type = flag,
           .group = OptionGroup::mode,
           .help = "compute the induction and duplicate-token scores of each head on random tokens "
                   "repeated twice"},
          {.name = "heatmap",
           .type = head,
           .group = OptionGroup::mode,
           .help = "draw the attention map of one head, such as L0H2, on the first sequence",
           .metavariable = "HEAD"},
          {.name = "maps",
           .type = file,
           .group = OptionGroup::output,
           .help = "also save the attention maps to this .safetensors file",
           .metavariable = "FILE",
           .use = FileUse::written,
           .endings = {".safetensors"}},
          {.name = "maps_of",
           .type = choice,
           .group = OptionGroup::output,
           .help = "save the maps of the first sequence, or the mean maps over all sequences",
           .metavariable = "WHICH",
           .choices = {"first", "mean"},
           .default_text = "first"},
          {.name = "log", .type = flag, .help = "with {heatmap}: use a logarithmic scale"}};
}

}  // namespace

AttentionRequest attention_request(const Arguments& arguments) {
  return {.layers = arguments.layers("layers"),
          .options = {{"energy", energy_of(arguments)},
                      {"exclude_first_token", arguments.flag("exclude_first_token")}}};
}

void add_sequences(AttentionRequest& request, TokenSequences sequences, RowSink& sink) {
  if (!sequences.note.empty()) sink.add_note(std::move(sequences.note));
  request.text = std::move(sequences.parameters);
  request.sequences.push_back(std::move(sequences.of_model));
  request.media_inputs.push_back(std::move(sequences.media_inputs));
  request.sources.push_back(std::move(sequences.sources));
  request.scored.push_back(std::move(sequences.scored));
}

Command attention_command() {
  return {
      .name = "attention",
      .summary = "Measure attention maps: rank, entropy, attended positions",
      .examples = {{{"models", "examples/shakespeare-gpt2"}, {"text", "To be, or not to be"}},
                   {{"models", "MODEL"},
                    {"text_file", "book.txt"},
                    {"sequences", "100"},
                    {"length", "100"}},
                   {{"models", "MODEL"}, {"token_file", "val.bin"}, {"format", "json"}},
                   {{"models", "MODEL"},
                    {"text_file", "book.txt"},
                    {"maps", "maps.safetensors"},
                    {"maps_of", "mean"}},
                   {{"models", "MODEL"},
                    {"text", "Good night."},
                    {"target", "Gute Nacht."},
                    {"stack", "cross"}},
                   {{"models", "MODEL"}, {"text_file", "en.txt"}, {"target_file", "de.txt"}},
                   {{"models", "MODEL"}, {"induction", ""}},
                   {{"models", "MODEL"}, {"image", "cat.jpg"}},
                   {{"models", "examples/shakespeare-gpt2"},
                    {"text", "To be, or not to be"},
                    {"heatmap", "L3H0"},
                    {"log", ""}}},
      .parameters = joined({remote_model_parameters(),
                            text_parameters(),
                            pair_parameters(),
                            window_parameters(),
                            example_parameters(),
                            media_parameters(),
                            attention_parameters(),
                            work_parameters(),
                            device_parameters(),
                            {edits_parameter()},
                            output_parameters()}),
      .exclusions = joined_exclusions(
          {{"induction",
            {"heatmap",         "maps",         "maps_of",     "text",       "text_pair",
             "text_file",       "tokens",       "token_types", "token_file", "target",
             "target_tokens",   "target_file",  "consecutive", "energy",     "exclude_first_token",
             "image",           "pixel_values", "audio",       "features",   "lines",
             "score_positions", "chat"},
            "runs random tokens"},
           {"edits", {"induction"}, "changes the run of an input"},
           {"heatmap",
            {"maps", "maps_of", "sequences", "layers", "store", "energy", "exclude_first_token",
             "score_positions"},
            "shows a single map unchanged"}},
          joined_exclusions(
              media_exclusions(kOfTexts),
              joined_exclusions(joined_exclusions(text_exclusions(/*with_windows=*/true),
                                                  example_exclusions(/*with_windows=*/true)),
                                line_target_exclusions()))),
      .analyses = {&attention_analysis(), &induction_analysis()},
      .run = run_attention_command};
}

}  // namespace attnscope
