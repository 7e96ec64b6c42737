#include "attnscope/features/spectrum/command.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/features/common/calibration/calibration_text.h"
#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/common/options/text_options.h"
#include "attnscope/features/framework/open_models.h"
#include "attnscope/features/framework/session.h"
#include "attnscope/features/spectrum/activations_run.h"
#include "attnscope/features/spectrum/mla_run.h"

namespace attnscope {
namespace {

using enum ParameterType;

void run_activations(const Arguments& arguments, const Session& session,
                     const std::vector<Model>& models, const SpectrumRequest& request,
                     RowSink& sink) {
  if (models.size() > 1) {
    throw Error(ErrorKind::usage,
                {.parameter = "activations", .problem = "are those of one model"});
  }
  if (arguments.given("store")) sink.add_note("{store} keeps no ranks on a text");
  const std::string file = arguments.text("activations");
  std::vector<TokenIds> windows = text_windows(session, models.front(), file);
  report_memory(session, activation_memory(models.front(), windows, session.context));
  run_activation_spectrum(models.front(),
                          {.windows = std::move(windows),
                           .source = std::filesystem::path(file).filename().string(),
                           .energy = arguments.shares("energy"),
                           .matrices = request.matrices,
                           .layers = request.layers},
                          session.context, sink);
}

void run_spectrum_command(const Arguments& arguments, const Session& session, RowSink& sink) {
  SpectrumRequest request{.matrices = arguments.roles("matrix"),
                          .layers = arguments.layers("layers"),
                          .experts = {arguments.text("experts")},
                          .per_head = arguments.flag("per_head"),
                          .options = spectrum_options(arguments)};
  if (arguments.given("tensor")) {
    const NamedCheckpoints opened = open_checkpoints(arguments, session);
    const StoringContext context(arguments, session);
    return run_tensor_spectrum(opened.checkpoints, opened.names, arguments.text("tensor"),
                               request.options, context, sink);
  }
  const std::vector<Model> models = open_models(arguments, session);
  if (arguments.given("activations")) {
    return run_activations(arguments, session, models, request, sink);
  }
  request.text = mla_text_of(arguments, session, models, sink);
  const StoringContext context(arguments, session);
  (arguments.flag("mla") ? run_mla : run_spectrum)(models, request, context, sink);
}

Parameters spectrum_parameters() {
  return {{.name = "matrix",
           .type = roles,
           .metavariable = "NAMES",
           .choices = role_names(),
           .default_words = "the projections that are there"},
          per_head_flag(),
          experts_parameter(),
          energy_parameter({0.9, 0.99}),
          {.name = "rank",
           .type = ranks,
           .help = "also the share of energy kept at these ranks: 512, or 0.1D for a share of the "
                   "width",
           .metavariable = "RANKS"},
          {.name = "values",
           .type = flag,
           .help = "in csv and json: the singular values and their cumulative energy"},
          {.name = "mla",
           .type = flag,
           .help = "instead: what latent attention with DeepSeek-V2's ranks (q 1536, kv 512) would "
                   "keep"},
          {.name = "activations",
           .type = file,
           .help = "instead: the ranks that matrices have on the text of this file",
           .metavariable = "FILE"},
          {.name = "tensor",
           .type = text,
           .help = "instead: any 2-D tensor by its name; needs no known architecture",
           .metavariable = "NAME"}};
}

}  // namespace

Record spectrum_options(const Arguments& arguments) {
  Record options = {{"energy", arguments.shares("energy")}, {"values", arguments.flag("values")}};
  const auto* ranks = arguments.find<std::vector<Rank>>("rank");
  if (ranks == nullptr) return options;
  Value::List texts;
  for (const Rank& rank : *ranks) texts.emplace_back(rank.text());
  return options.add("rank", std::move(texts));
}

Command spectrum_command() {
  std::vector<Exclusion> exclusions = mla_text_exclusions({"mla", "tensor", "activations"});
  exclusions.push_back({"mla",
                        {"matrix", "per_head", "experts", "values", "rank", "tensor"},
                        "asks of queries, and of keys and values, at ranks of its own"});
  exclusions.push_back({"activations",
                        {"mla", "per_head", "experts", "values", "rank", "tensor"},
                        "asks of whole matrices on a text"});
  exclusions.push_back(
      {"tensor", {"matrix", "layers", "per_head", "experts", "layout"}, "names one tensor"});
  return {.name = "spectrum",
          .summary = "singular values and ranks of every projection, layer and head",
          .examples = {{{"models", "examples/shakespeare-llama"}},
                       {{"models", "MODEL"},
                        {"matrix", "qk,ov"},
                        {"per_head", ""},
                        {"energy", "0.9,0.99"},
                        {"format", "csv"}},
                       {{"models", "MODEL"},
                        {"layers", "0-3,-4-"},
                        {"format", "json"},
                        {"values", ""},
                        {"out", "spectra.json"}},
                       {{"models", "examples/shakespeare-llama"},
                        {"models", "examples/shakespeare-gpt2"},
                        {"matrix", "q,k"}},
                       {{"models", "MODEL"}, {"matrix", "kv"}, {"rank", "512,0.1D"}},
                       {{"models", "MODEL"}, {"mla", ""}},
                       {{"models", "MODEL"}, {"activations", "book.txt"}},
                       {{"models", "MODEL"}, {"matrix", "router,up"}, {"experts", "0-7"}},
                       {{"models", "MODEL"}, {"store", "rows.sqlite"}}},
          .parameters = joined({remote_model_parameters(), spectrum_parameters(),
                                mla_text_parameters(), work_parameters(), output_parameters()}),
          .exclusions = std::move(exclusions),
          .analyses = {&spectrum_analysis(), &mla_analysis()},
          .run = run_spectrum_command};
}

}  // namespace attnscope
