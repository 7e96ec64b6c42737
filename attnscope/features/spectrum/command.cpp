#include "attnscope/features/spectrum/run.h"

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
                {.parameter = "activations", .problem = "expects exactly one model"});
  }
  if (arguments.given("store"))
    sink.add_note("{store} has no effect with {activations}: ranks on a text are not stored");
  const std::string file = arguments.text("activations");
  std::vector<TokenIds> windows = text_windows(session, models.front(), file);
  if (session.on_note)
    session.on_note(memory_note(activation_memory(models.front(), windows, session.context)));
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
  return {
      {.name = "matrix",
       .type = roles,
       .metavariable = "NAMES",
       .choices = role_names(),
       .default_words = "all projections of the model"},
      per_head_flag(),
      experts_parameter(),
      energy_parameter({0.9, 0.99}),
      {.name = "rank",
       .type = ranks,
       .help = "also report the share of energy kept at these ranks, e.g. 512, or 0.1D for 0.1 × "
               "hidden size",
       .metavariable = "RANKS"},
      {.name = "values",
       .type = flag,
       .help = "CSV and JSON: add the singular values and their cumulative energy"},
      {.name = "mla",
       .type = flag,
       .group = OptionGroup::mode,
       .help =
           "report the energy that MLA with DeepSeek-V2's ranks (query 1536, KV 512) would keep"},
      {.name = "activations",
       .type = file,
       .group = OptionGroup::mode,
       .help = "report the rank of each matrix's inputs and outputs on the text in FILE",
       .metavariable = "FILE"},
      {.name = "tensor",
       .type = text,
       .group = OptionGroup::mode,
       .help = "analyze any 2-D tensor by name, whatever the architecture",
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
                        "analyzes W_Q and stacked W_K, W_V at fixed ranks"});
  exclusions.push_back({"activations",
                        {"mla", "per_head", "experts", "values", "rank", "tensor"},
                        "analyzes whole matrices on a text"});
  exclusions.push_back({"tensor",
                        {"matrix", "layers", "per_head", "experts", "layout"},
                        "analyzes a single tensor"});
  return {.name = "spectrum",
          .summary = "Compute singular values and ranks of weight matrices",
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
