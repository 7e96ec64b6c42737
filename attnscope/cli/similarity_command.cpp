#include <CLI/CLI.hpp>
#include <memory>

#include "attnscope/cli/arguments.h"
#include "attnscope/cli/bin_arguments.h"
#include "attnscope/cli/command.h"
#include "attnscope/core/error.h"
#include "attnscope/core/text.h"
#include "attnscope/pipeline/similarity.h"

namespace attnscope {
namespace {

struct SimilarityArguments {
  CommonArguments common;
  std::string matrix;
  std::string head_matrix;
  bool overlap = false;
  BinArguments bins;
};

HeadPlace parse_head_place(const std::string& text) {
  constexpr const char* kOption = "--head-matrix";
  const std::vector<std::string> parts = split(text, ',');
  if (parts.size() != 2) {
    throw Error(ErrorKind::usage, kOption,
                "'" + text + "' is not a layer and a head (for example: 0,3)");
  }
  return {parse_integer(kOption, parts[0], -kMaxSize, kMaxSize),
          parse_integer(kOption, parts[1], 0, kMaxSize)};
}

void refuse_idle_options(const SimilarityArguments& arguments) {
  const bool head_matrix = !arguments.head_matrix.empty();
  if (head_matrix && (arguments.overlap || !arguments.common.layers.empty())) {
    throw Error(ErrorKind::usage, "--head-matrix",
                "prints one head of one layer, so --overlap and --layers have no meaning beside "
                "it");
  }
  if ((head_matrix || arguments.overlap) && arguments.bins.any()) {
    throw Error(ErrorKind::usage, head_matrix ? "--head-matrix" : "--overlap",
                "prints a matrix, so --histogram, --bins and --range have no meaning beside it");
  }
}

SimilarityRequest make_request(const SimilarityArguments& arguments) {
  refuse_idle_options(arguments);
  SimilarityRequest request;
  if (!arguments.matrix.empty()) request.matrices = parse_roles("--matrix", arguments.matrix);
  for (const Role role : request.matrices) {
    if (role == Role::query || role == Role::key || role == Role::value) continue;
    throw Error(ErrorKind::usage, "--matrix",
                "the rows of '" + std::string(role_name(role)) +
                    "' are not the vectors of heads; similarity takes q,k,v");
  }
  if (!arguments.common.layers.empty()) request.layers = LayerSelection(arguments.common.layers);
  request.overlap = arguments.overlap;
  if (!arguments.head_matrix.empty()) request.head_matrix = parse_head_place(arguments.head_matrix);
  request.with_histogram = arguments.bins.histogram;
  request.bins = parse_bins(arguments.bins, request.bins);
  return request;
}

int run(const SimilarityArguments& arguments) {
  const SimilarityRequest request = make_request(arguments);
  Context context = context_for(arguments.common);
  const ProgressMode mode = progress_mode(arguments.common);
  const std::vector<Model> models = open_models(arguments.common);
  std::optional<Store> store = open_store(arguments.common);
  context.store = store ? &*store : nullptr;
  return print_report(arguments.common, [&](RowSink& sink) {
    ProgressLine line("similarity", mode);
    context.on_progress = [&](const Progress& progress) { line.show(progress); };
    run_similarity(models, request, context, sink);
    note_idle_bins(arguments.bins, sink);
  });
}

}  // namespace

std::function<int()> set_up_similarity(CLI::App& app) {
  const auto arguments = std::make_shared<SimilarityArguments>();
  add_common_arguments(app, arguments->common);
  add_work_arguments(app, arguments->common);
  app.add_option("--matrix", arguments->matrix, "of q,k,v (default: all three)")
      ->type_name("NAMES");
  add_bin_arguments(app, arguments->bins, SimilarityRequest().bins);
  app.add_flag("--overlap", arguments->overlap,
               "instead: how far the row spaces of heads overlap, a heads x heads matrix a layer");
  app.add_option("--head-matrix", arguments->head_matrix,
                 "instead: all cosines of one head's rows, by layer and head (of k and v: a "
                 "key/value head)")
      ->type_name("L,H");
  return [arguments] { return run(*arguments); };
}

}  // namespace attnscope
