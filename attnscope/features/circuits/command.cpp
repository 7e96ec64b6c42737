#include "attnscope/features/circuits/run.h"

#include <utility>
#include <vector>

#include "attnscope/features/circuits/composition_run.h"
#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/common/options/text_options.h"
#include "attnscope/features/framework/open_models.h"
#include "attnscope/features/framework/session.h"

namespace attnscope {
namespace {

using enum ParameterType;

constexpr std::int64_t kMaxOffset = 100'000'000;  // tokens

Record circuits_options(const Arguments& arguments) {
  const std::string fold = arguments.text("fold_norm");
  return {{"energy", arguments.shares("energy")},
          {"fold_norm", fold == "centered" ? Value(fold) : Value(!fold.empty())},
          {"with_bias", arguments.flag("with_bias")},
          {"rope_offset", *arguments.integer("rope_offset")},
          {"all_eigenvalues", arguments.flag("all_eigenvalues")}};
}

void run_circuits_command(const Arguments& arguments, const Session& session, RowSink& sink) {
  CircuitsRequest request{.circuits = arguments.roles("circuit"),
                          .layers = arguments.layers("layers"),
                          .options = circuits_options(arguments),
                          .composition = arguments.flag("composition")};
  const std::vector<Model> models = open_models(arguments, session);
  request.text = mla_text_of(arguments, session, models, sink);
  const StoringContext context(arguments, session);
  (request.composition ? run_composition : run_circuits)(models, request, context, sink);
}

Parameters circuits_parameters() {
  return {
      {.name = "circuit",
       .type = roles,
       .metavariable = "NAMES",
       .choices = {"qk", "ov"},
       .default_words = "both",
       .rejected_role = "'*' is not a circuit; circuits: qk, ov"},
      energy_parameter({0.9, 0.99}),
      {.name = "fold_norm",
       .type = choice,
       .help = "multiply Q, K and V by the gain of the norm that feeds them; centred also takes "
               "out the means that LayerNorms take out, as TransformerLens does",
       .metavariable = "HOW",
       .choices = {"gain", "centered"},
       .implied_text = "gain"},
      {.name = "with_bias",
       .type = flag,
       .help = "take biases of Q, K and V as one more input coordinate"},
      {.name = "rope_offset",
       .type = integer,
       .help = "of rotary models: the circuit qk at this key position minus query position",
       .metavariable = "TOKENS",
       .least = -kMaxOffset,
       .most = kMaxOffset,
       .default_text = "0"},
      {.name = "all_eigenvalues",
       .type = flag,
       .help = "copying scores of sums over heads of order above 1024 too; may take minutes"},
      {.name = "composition",
       .type = flag,
       .help = "instead: how much every head's weights align with what each head of earlier "
               "layers writes"}};
}

}  // namespace

Command circuits_command() {
  std::vector<Exclusion> exclusions = mla_text_exclusions({"composition"});
  exclusions.push_back(
      {"composition", {"circuit", "energy", "all_eigenvalues"}, "compares pairs of heads"});
  exclusions.push_back(
      {"composition", {"with_bias"}, "reads what heads write, where no bias is a coordinate"});
  return {.name = "circuits",
          .summary = "what the circuits QK and OV of layers and heads are like, by their weights",
          .examples =
              {{{"models", "examples/shakespeare-llama"}},
               {{"models", "MODEL"}, {"fold_norm", ""}, {"rope_offset", "-1"}, {"circuit", "qk"}},
               {{"models", "MODEL"}, {"composition", ""}, {"format", "csv"}, {"out", "pairs.csv"}}},
          .parameters = joined({remote_model_parameters(), circuits_parameters(),
                                mla_text_parameters(), work_parameters(), output_parameters()}),
          .exclusions = std::move(exclusions),
          .analyses = {&circuits_analysis(), &composition_analysis()},
          .run = run_circuits_command};
}

}  // namespace attnscope
