#include <CLI/CLI.hpp>
#include <memory>

#include "attnscope/cli/arguments.h"
#include "attnscope/cli/command.h"
#include "attnscope/core/error.h"
#include "attnscope/pipeline/spectrum.h"

namespace attnscope {
namespace {

struct SpectrumArguments {
  CommonArguments common;
  std::string matrix;
  std::string energy;
  std::string tensor;
  bool per_head = false;
  bool values = false;
};

SpectrumRequest make_request(const SpectrumArguments& arguments) {
  SpectrumRequest request;
  if (!arguments.matrix.empty()) request.matrices = parse_roles("--matrix", arguments.matrix);
  if (!arguments.common.layers.empty()) request.layers = LayerSelection(arguments.common.layers);
  if (!arguments.energy.empty())
    request.thresholds = parse_thresholds("--energy", arguments.energy);
  request.layers_text = arguments.common.layers;
  request.per_head = arguments.per_head;
  request.with_values = arguments.values;
  request.threads = thread_count(arguments.common);
  return request;
}

int run(const SpectrumArguments& arguments) {
  const SpectrumRequest request = make_request(arguments);
  const ProgressMode mode = progress_mode(arguments.common);
  if (arguments.tensor.empty()) {
    const std::vector<Model> models = open_models(arguments.common);
    return print_report(arguments.common, [&] {
      ProgressLine line("spectrum", mode);
      return run_spectrum(models, request, [&](const Progress& progress) { line.show(progress); });
    });
  }
  if (!arguments.matrix.empty() || !arguments.common.layers.empty() || arguments.per_head ||
      !arguments.common.layout.empty()) {
    throw Error(ErrorKind::usage, "--tensor",
                "names one tensor, so --matrix, --layers, --per-head and --layout have no meaning "
                "beside it");
  }
  const NamedCheckpoints opened = open_checkpoints(arguments.common);
  return print_report(arguments.common, [&] {
    ProgressLine line("spectrum", mode);
    return run_tensor_spectrum(opened.checkpoints, opened.names, arguments.tensor, request,
                               [&](const Progress& progress) { line.show(progress); });
  });
}

}  // namespace

std::function<int()> set_up_spectrum(CLI::App& app) {
  const auto arguments = std::make_shared<SpectrumArguments>();
  add_common_arguments(app, arguments->common);
  add_work_arguments(app, arguments->common);
  app.add_option("--matrix", arguments->matrix,
                 "of q,k,v,o,gate,up,down,qk,ov (default: the projections that are there)")
      ->type_name("NAMES");
  app.add_flag("--per-head", arguments->per_head, "a row for each head too");
  app.add_option("--energy", arguments->energy, "thresholds of the energy rank (default: 0.9,0.99)")
      ->type_name("SHARES");
  app.add_flag("--values", arguments->values,
               "in csv and json: the singular values and their cumulative energy");
  app.add_option("--tensor", arguments->tensor,
                 "any 2-D tensor by its name instead; needs no known architecture")
      ->type_name("NAME");
  return [arguments] { return run(*arguments); };
}

}  // namespace attnscope
