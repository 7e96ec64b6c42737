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
       .help = "circuits to analyze",
       .metavariable = "NAMES",
       .choices = {"qk", "ov"},
       .default_words = "both",
       .rejected_role = "'*' is not a circuit; circuits: qk, ov"},
      energy_parameter({0.9, 0.99}),
      {.name = "fold_norm",
       .type = choice,
       .help = "fold the gain of the preceding norm into Q, K and V; centered also subtracts the "
               "means that LayerNorms subtract, as in TransformerLens",
       .metavariable = "MODE",
       .choices = {"gain", "centered"},
       .implied_text = "gain"},
      {.name = "with_bias",
       .type = flag,
       .help = "include the biases of Q, K and V as an extra input coordinate"},
      {.name = "rope_offset",
       .type = integer,
       .help = "RoPE models: relative position at which qk is evaluated (key position minus query "
               "position)",
       .metavariable = "TOKENS",
       .least = -kMaxOffset,
       .most = kMaxOffset,
       .default_text = "0"},
      {.name = "all_eigenvalues",
       .type = flag,
       .help = "also compute the copying score of the sum over heads if KV heads × head size (MLA: "
               "latent size) exceeds 1024; may take minutes"},
      {.name = "composition",
       .type = flag,
       .group = OptionGroup::mode,
       .help = "compute composition scores of each head with the heads of earlier layers"}};
}

}  // namespace

Command circuits_command() {
  std::vector<Exclusion> exclusions = mla_text_exclusions({"composition"});
  exclusions.push_back(
      {"composition", {"circuit", "energy", "all_eigenvalues"}, "compares pairs of heads"});
  exclusions.push_back(
      {"composition", {"with_bias"}, "measures head outputs, which have no bias coordinate"});
  return {.name = "circuits",
          .summary = "Analyze QK and OV circuits from the weights",
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
