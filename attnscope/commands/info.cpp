#include "attnscope/analyses/info.h"

#include "attnscope/commands/open_models.h"
#include "attnscope/commands/shared_parameters.h"

namespace attnscope {
namespace {

void run_info_command(const Arguments& arguments, const Session& session, RowSink& sink) {
  if (arguments.flag("system")) {
    return run_system_info(ATTNSCOPE_VERSION, session.context.kernels, sink);
  }
  run_info(open_models(arguments, session), session.context, sink);
}

Parameters parameters() {
  Parameters own = remote_model_parameters();
  own.front().not_needed_with = "system";
  own.push_back({.name = "system",
                 .type = ParameterType::flag,
                 .help = "this machine, its kernels and libraries; no model"});
  return joined({own, output_parameters()});
}

}  // namespace

Command info_command() {
  return {.name = "info",
          .summary = "facts of models, and every tensor with its role",
          .examples = {{{"models", "examples/shakespeare-gpt2"}}, {{"system", ""}}},
          .parameters = parameters(),
          .exclusions = {{"system", {"models"}, "says what this machine has"}},
          .run = run_info_command};
}

}  // namespace attnscope
