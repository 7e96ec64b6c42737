// `plan`: measures what compressing a model costs. `shrink` (shrink_command.cpp) makes the
// compressed model.
#include "attnscope/features/plan/run.h"

#include <algorithm>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/common/calibration/calibration_text.h"
#include "attnscope/features/common/options/device_options.h"
#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/framework/open_models.h"
#include "attnscope/features/framework/session.h"
#include "attnscope/features/plan/memory.h"
#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/features/plan/plan_file.h"
#include "attnscope/features/plan/rank_sensitivity.h"
#include "attnscope/features/plan/size_target.h"

namespace attnscope {
namespace {

using enum ParameterType;

constexpr std::int64_t kMostWindows = 1'000'000;

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const Method method : methods()) names.emplace_back(method->name);
  return names;
}

/// An example value of `set` for each method: "remove-layers=2,4 mlp=384".
std::string set_examples() {
  std::vector<std::string> examples;
  for (const Method method : methods()) examples.emplace_back(method->set_example);
  return join(examples, " ");
}

void run_plan_command(const Arguments& arguments, const Session& session, RowSink& sink) {
  const std::vector<Model> models = open_models(arguments, session);
  if (models.size() != 1) {
    throw Error(ErrorKind::usage, {.parameter = "models",
                                   .problem = "expected one model, or one stack of it: "
                                              "MODEL:encoder or MODEL:decoder"});
  }
  const Model& model = models.front();
  const StoringContext context(arguments, session);
  PlanRequest request;
  for (const std::string& name : arguments.texts("method")) {
    request.by.push_back(find_method(name));
  }
  request.target = plan_target(arguments, model, request.by);
  const auto allocation = std::ranges::find(kRankAllocations, arguments.text("rank_allocation"));
  request.rank_allocation = static_cast<RankAllocation>(allocation - kRankAllocations.begin());
  request.ridge = number_of_text("ridge", arguments.text("ridge"));
  if (request.ridge < 0 || request.ridge > kMostRidge) {
    throw Error(ErrorKind::usage,
                {.parameter = "ridge",
                 .problem = "is out of range, expected from 0 to " + shortest_decimal(kMostRidge)});
  }
  request.probe_tokens = *arguments.integer("probe_tokens");
  request.round = *arguments.integer("round");
  request.matrices = arguments.roles("matrix");
  request.layers = arguments.layers("layers");
  const bool narrowed = arguments.given("layers") || arguments.given("matrix");
  if (narrowed && (request.by.size() != 1 || !request.by.front()->allocates_ranks())) {
    throw Error(ErrorKind::usage,
                {.parameter = arguments.given("layers") ? "layers" : "matrix",
                 .problem = "works only with low-rank factorization: add {method} low-rank"});
  }
  const auto sample = arguments.integer("seed");
  request.text = plan_text(
      arguments, session, model,
      {.sequences = arguments.integer("sequences"),
       .length = arguments.integer("length"),
       .sample = sample ? std::optional(static_cast<std::uint64_t>(*sample)) : std::nullopt});
  constexpr std::int64_t kMeasuredTokens = 8192;
  request.eval_sequences = arguments.integer("eval_sequences")
                               .value_or(std::max<std::int64_t>(
                                   1, kMeasuredTokens / std::ssize(request.text.held_out[0])));
  if (session.on_note) session.on_note(memory_note(plan_memory(model, request, context)));
  run_plan_of_model(model, request, context, sink);
}

Parameters plan_parameters() {
  return {
      {.name = "sequences",
       .type = integer,
       .group = OptionGroup::input,
       .help = "number of calibration windows",
       .metavariable = "N",
       .least = 1,
       .most = kMostWindows,
       .default_words = "enough for 16 tokens per input dimension of the widest matrix"},
      {.name = "length",
       .type = integer,
       .group = OptionGroup::input,
       .help = "tokens per window",
       .metavariable = "T",
       .least = 2,
       .most = kMostWindows,
       .default_words = "the context length, at most 2048"},
      {.name = "seed",
       .type = integer,
       .group = OptionGroup::input,
       .help = "draw random windows with this seed",
       .metavariable = "N",
       .least = 0,
       .most = kMaxSize,
       .default_words = "consecutive windows from the start"},
      {.name = "method",
       .type = several,
       .help = "compression method, or several, applied in the given order",
       .metavariable = "METHODS",
       .choices = method_names(),
       .default_words = "compare all methods that the architecture allows",
       .noun = "method"},
      {.name = "keep",
       .type = text,
       .help = "share of the parameters to keep (low-rank: of the projection parameters, counted "
               "as factors)",
       .metavariable = "SHARE"},
      {.name = "kv_bytes",
       .type = text,
       .help = "KV-cache bytes per token to keep, as a share (0.5) or as a number (780)",
       .metavariable = "SHARE"},
      {.name = "max_perplexity",
       .type = text,
       .help = "smallest model whose perplexity is at most P (e.g. 25) or rises by at most P (e.g. "
               "+5%)",
       .metavariable = "P"},
      {.name = "set",
       .type = text,
       .help = "one exact setting: " + set_examples(),
       .metavariable = "SETTING"},
      {.name = "matrix",
       .type = roles,
       .help = "low-rank: factor only these matrices",
       .metavariable = "NAMES",
       .choices = role_names(),
       .default_words = "all projections"},
      {.name = "layers",
       .type = layers,
       .help = "low-rank: factor only matrices of these layers",
       .metavariable = "LAYERS",
       .default_words = "all"},
      {.name = "round",
       .type = integer,
       .help = "round ranks and sizes to multiples of N",
       .metavariable = "N",
       .least = 1,
       .most = kMaxSize,
       .default_text = "1"},
      {.name = "eval_sequences",
       .type = integer,
       .help = "number of evaluation windows used to search and compare methods; the final plan is "
               "measured on all windows",
       .metavariable = "N",
       .least = 1,
       .most = kMostWindows,
       .default_words = "8,192 tokens in total"},
      {.name = "probe_tokens",
       .type = integer,
       .help = "low-rank: number of tokens on which the sensitivity of each matrix is measured",
       .metavariable = "N",
       .least = 2,
       .most = kMaxSize,
       .default_text = "1024"},
      {.name = "ridge",
       .type = text,
       .help = "low-rank: ridge added to the diagonal of the second-moment matrix, relative to the "
               "mean of this diagonal",
       .metavariable = "X",
       .default_text = "0.01"},
      {.name = "rank_allocation",
       .type = choice,
       .help = "allocate ranks by measured sensitivity, by equal energy share, uniformly, or "
               "uniformly without calibration",
       .metavariable = "NAME",
       .choices = {kRankAllocations.begin(), kRankAllocations.end()},
       .default_text = "kl",
       .noun = "rank allocation"}};
}

}  // namespace

Command plan_command() {
  return {.name = "plan",
          .summary = "Measure what compressing the model costs in perplexity",
          .examples = {{{"models", "MODEL"}, {"calibration_file", "book.txt"}},
                       {{"models", "MODEL"},
                        {"calibration_file", "book.txt"},
                        {"method", "mlp"},
                        {"keep", "0.8"},
                        {"out", "plan.json"}},
                       {{"models", "MODEL"},
                        {"calibration_file", "book.txt"},
                        {"method", "hidden-size,mlp"},
                        {"keep", "0.7"}},
                       {{"models", "MODEL"},
                        {"calibration_file", "book.txt"},
                        {"method", "mla"},
                        {"kv_bytes", "0.5"}},
                       {{"models", "MODEL"},
                        {"calibration_file", "book.txt"},
                        {"method", "depth"},
                        {"max_perplexity", "+5%"}}},
          .parameters = joined({remote_model_parameters(),
                                plan_text_parameters(),
                                plan_parameters(),
                                run_parameters(),
                                device_parameters(),
                                {store_parameter()},
                                output_parameters()}),
          .exclusions = plan_text_exclusions(),
          .analyses = {&layer_ranks_analysis()},
          .run = run_plan_command};
}

}  // namespace attnscope
