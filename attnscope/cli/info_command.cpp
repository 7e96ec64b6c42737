#include <CLI/CLI.hpp>
#include <memory>

#include "attnscope/cli/arguments.h"
#include "attnscope/cli/command.h"
#include "attnscope/core/error.h"
#include "attnscope/pipeline/info.h"

namespace attnscope {
namespace {

struct InfoArguments {
  CommonArguments common;
  bool system = false;
};

int run(const InfoArguments& arguments) {
  if (arguments.system) {
    if (!arguments.common.models.empty()) {
      throw Error(ErrorKind::usage, "--system", "takes no model");
    }
    return print_report(arguments.common, [](RowSink& sink) {
      run_system_info(ATTNSCOPE_VERSION, kernels_of_environment(), sink);
    });
  }
  const std::vector<Model> models = open_models(arguments.common);
  return print_report(arguments.common, [&](RowSink& sink) { run_info(models, sink); });
}

}  // namespace

std::function<int()> set_up_info(CLI::App& app) {
  const auto arguments = std::make_shared<InfoArguments>();
  add_common_arguments(app, arguments->common);
  app.add_flag("--system", arguments->system, "this machine, its kernels and libraries; no model");
  return [arguments] { return run(*arguments); };
}

}  // namespace attnscope
