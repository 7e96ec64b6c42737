#include "attnscope/features/similarity/run.h"

#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/framework/open_models.h"
#include "attnscope/features/framework/session.h"

namespace attnscope {
namespace {

using enum ParameterType;

constexpr BinRule kCosineBins = {.bins = 100, .range = ValueRange{-0.4, 0.4}};

void run_similarity_command(const Arguments& arguments, const Session& session, RowSink& sink) {
  SimilarityRequest request{.matrices = arguments.roles("matrix"),
                            .layers = arguments.layers("layers"),
                            .experts = {arguments.text("experts")},
                            .overlap = arguments.flag("overlap")};
  add_bin_options(request.options, arguments, kCosineBins);
  if (const auto* head = arguments.find<HeadIndex>("head_matrix")) request.head_matrix = *head;
  const std::vector<Model> models = open_models(arguments, session);
  const StoringContext context(arguments, session);
  run_similarity(models, request, context, sink);
  note_idle_bins(arguments, sink);
}

Parameters similarity_parameters() {
  return {
      {.name = "matrix",
       .type = roles,
       .metavariable = "NAMES",
       .choices = {"q", "k", "v", "gate", "up", "down", "router", "shared_gate", "shared_up",
                   "shared_down"},
       .default_words = "q,k,v",
       .rejected_role = "similarity does not support '*' (supported: q, k, v, gate, up, down, "
                        "router, shared_gate, shared_up, shared_down)"},
      experts_parameter(),
      {.name = "overlap",
       .type = flag,
       .group = OptionGroup::mode,
       .help =
           "report how much the row spaces of heads overlap, one heads × heads matrix per layer"},
      {.name = "head_matrix",
       .type = head,
       .group = OptionGroup::mode,
       .help = "report all cosines between the rows of head H in layer L (k, v: a key/value head)",
       .metavariable = "HEAD"}};
}

}  // namespace

Command similarity_command() {
  const std::vector<std::string> bins = {"histogram", "bins", "range"};
  return {
      .name = "similarity",
      .summary = "Compare weight vectors of heads; find duplicate heads",
      .examples =
          {{{"models", "examples/shakespeare-llama"}},
           {{"models", "MODEL"}, {"overlap", ""}, {"layers", "0"}},
           {{"models", "MODEL"},
            {"histogram", ""},
            {"bins", "fd"},
            {"matrix", "q"},
            {"format", "json"}},
           {{"models", "MODEL"}, {"head_matrix", "L0H3"}, {"matrix", "q"}, {"format", "csv"}},
           {{"models", "MODEL"}, {"matrix", "router,up"}, {"experts", "0-7"}}},
      .parameters = joined({remote_model_parameters(), similarity_parameters(),
                            bin_parameters(kCosineBins), work_parameters(), output_parameters()}),
      .exclusions = {{"head_matrix", {"overlap", "layers", "experts"}, "reports a single head"},
                     {"head_matrix", bins, "reports a matrix, not a distribution"},
                     {"overlap", bins, "reports a matrix, not a distribution"},
                     {"overlap", {"experts"}, "compares heads, not experts"}},
      .analyses = {&similarity_analysis(), &head_overlap_analysis(), &head_matrix_analysis()},
      .run = run_similarity_command};
}

}  // namespace attnscope
