#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "attnscope/cli/arguments.h"
#include "attnscope/cli/bin_arguments.h"
#include "attnscope/cli/command.h"
#include "attnscope/core/error.h"
#include "attnscope/pipeline/weights.h"

namespace attnscope {
namespace {

struct WeightsArguments {
  CommonArguments common;
  std::string matrix;
  bool per_head = false;
  BinArguments bins;
};

WeightsRequest make_request(const WeightsArguments& arguments) {
  WeightsRequest request;
  if (!arguments.matrix.empty()) request.matrices = parse_roles("--matrix", arguments.matrix);
  for (const Role role : request.matrices) {
    if (std::find(kProjections.begin(), kProjections.end(), role) != kProjections.end()) continue;
    throw Error(ErrorKind::usage, "--matrix",
                "'" + std::string(role_name(role)) +
                    "' is made of two projections; weights takes q,k,v,o,gate,up,down");
  }
  if (!arguments.common.layers.empty()) request.layers = LayerSelection(arguments.common.layers);
  request.per_head = arguments.per_head;
  request.with_histogram = arguments.bins.histogram;
  request.bins = parse_bins(arguments.bins, request.bins);
  return request;
}

int run(const WeightsArguments& arguments) {
  const WeightsRequest request = make_request(arguments);
  Context context = context_for(arguments.common);
  const ProgressMode mode = progress_mode(arguments.common);
  const std::vector<Model> models = open_models(arguments.common);
  std::optional<Store> store = open_store(arguments.common);
  context.store = store ? &*store : nullptr;
  return print_report(arguments.common, [&](RowSink& sink) {
    ProgressLine line("weights", mode);
    context.on_progress = [&](const Progress& progress) { line.show(progress); };
    run_weights(models, request, context, sink);
    note_idle_bins(arguments.bins, sink);
  });
}

}  // namespace

std::function<int()> set_up_weights(CLI::App& app) {
  const auto arguments = std::make_shared<WeightsArguments>();
  add_common_arguments(app, arguments->common);
  add_work_arguments(app, arguments->common);
  app.add_option("--matrix", arguments->matrix,
                 "of q,k,v,o,gate,up,down (default: those that are there)")
      ->type_name("NAMES");
  app.add_flag("--per-head", arguments->per_head, "a row for each head too");
  add_bin_arguments(app, arguments->bins, WeightsRequest().bins);
  return [arguments] { return run(*arguments); };
}

}  // namespace attnscope
