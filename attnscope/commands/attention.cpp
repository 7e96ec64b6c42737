#include "attnscope/pipeline/attention.h"
#include "attnscope/pipeline/attention_map.h"

#include "attnscope/commands/common.h"
#include "attnscope/commands/text_parameters.h"
#include "attnscope/core/error.h"

namespace attnscope {
namespace {

using enum ParameterType;

double energy_of(const Arguments& arguments) {
  const std::vector<double> shares = arguments.shares("energy");
  if (shares.size() == 1) return shares.front();
  throw Error(ErrorKind::usage,
              {.parameter = "energy", .problem = "takes one share of the energy"});
}

void run_induction_of(const Arguments& arguments, const std::vector<Model>& models,
                      const Context& context, RowSink& sink) {
  InductionRequest request{.layers = arguments.layers("layers")};
  request.sequences = arguments.integer("sequences").value_or(request.sequences);
  request.seed = static_cast<std::uint64_t>(arguments.integer("sample").value_or(0));
  if (const auto length = arguments.integer("length")) {
    if (*length < 4 || *length % 2 != 0) {
      throw Error(ErrorKind::usage,
                  {.parameter = "length", .problem = "of repeated tokens is even, and 4 at least"});
    }
    request.block = *length / 2;
  }
  run_induction(models, request, context, sink);
}

/// Of the first sequence of each model.
void run_heatmap_of(const Arguments& arguments, const std::vector<Model>& models,
                    const Context& context, RowSink& sink) {
  AttentionMapRequest request{.place = *arguments.find<HeadPlace>("heatmap"),
                              .log_scale = arguments.flag("log")};
  for (const Model& model : models) {
    TokenSequences found = token_sequences(arguments, model, /*usual_sequences=*/1);
    request.text = std::move(found.parameters);
    ShownTokens& tokens = request.tokens.emplace_back();
    tokens.ids = std::move(found.of_model.front());
    const auto tokenizer = Tokenizer::find(model.checkpoint().folder());
    if (!tokenizer) continue;
    for (const std::int64_t id : tokens.ids) {
      tokens.texts.push_back(tokenizer->text(id, Spaces::visible));
    }
  }
  run_attention_map(models, request, context, sink);
}

void run(const Arguments& arguments, const Session& session, RowSink& sink) {
  AttentionRequest request{.layers = arguments.layers("layers"),
                           .energy = energy_of(arguments),
                           .without_first = arguments.flag("without_first")};
  const std::vector<Model> models = open_models(arguments, session);
  const StoringContext context(arguments, session);
  if (arguments.flag("induction")) return run_induction_of(arguments, models, context, sink);
  if (arguments.flag("log") && !arguments.given("heatmap")) {
    sink.add_note("{log} has no effect without {heatmap}");
  }
  if (arguments.given("heatmap")) return run_heatmap_of(arguments, models, context, sink);
  for (const Model& model : models) {
    TokenSequences found = token_sequences(arguments, model);
    request.text = std::move(found.parameters);
    request.sequences.push_back(std::move(found.of_model));
  }
  run_attention(models, request, context, sink);
}

Parameters own_parameters() {
  return {energy_parameter({AttentionRequest().energy}),
          {.name = "without_first",
           .type = flag,
           .help = "leave key 0 out of ranks and columns: an attention sink hides the rest"},
          {.name = "induction",
           .type = flag,
           .help = "instead: induction and duplicate-token heads, on random tokens repeated twice"},
          {.name = "heatmap",
           .type = head,
           .help = "instead: the map of one head on the first sequence, drawn in a table",
           .metavariable = "L,H"},
          {.name = "log", .type = flag, .help = "draw it on a logarithmic scale"}};
}

}  // namespace

Command attention_command() {
  return {
      .name = "attention",
      .summary = "what attention maps are like on text: their rank, columns, and where they look",
      .examples = {{{"models", "examples/shakespeare-gpt2"}, {"text", "To be, or not to be"}},
                   {{"models", "MODEL"},
                    {"text_file", "book.txt"},
                    {"sequences", "100"},
                    {"length", "100"}},
                   {{"models", "MODEL"}, {"token_file", "val.bin"}, {"format", "json"}},
                   {{"models", "MODEL"}, {"induction", ""}},
                   {{"models", "examples/shakespeare-gpt2"},
                    {"text", "To be, or not to be"},
                    {"heatmap", "3,0"},
                    {"log", ""}}},
      .parameters = joined({model_parameters(), text_parameters(), window_parameters(),
                            own_parameters(), work_parameters(), output_parameters()}),
      .exclusions = joined_exclusions(
          text_exclusions(/*with_windows=*/true),
          {{"induction",
            {"heatmap", "text", "text_file", "tokens", "token_file", "energy", "without_first"},
            "runs random tokens"},
           {"heatmap",
            {"sequences", "layers", "store", "energy", "without_first"},
            "gives one map as it is"}}),
      .analyses = {&attention_analysis(), &induction_analysis()},
      .run = run};
}

}  // namespace attnscope
