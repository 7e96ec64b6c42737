#include "attnscope/cli/live_run.h"

#include <memory>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/features/common/options/device_options.h"

namespace attnscope {

void add_live_run(const Command& command, const Arguments& arguments, const OpenLive& open_live,
                  Session& session) {
  const Parameter* dtype = find_parameter(command, "dtype");
  if (!arguments.given("device")) {
    if (dtype != nullptr && is_of_device(*dtype) && arguments.given("dtype")) {
      throw Error(ErrorKind::usage, {.parameter = "dtype", .problem = "requires {device}"});
    }
    return;
  }
  if (open_live == nullptr) {
    throw Error(ErrorKind::unsupported,
                {.parameter = "device",
                 .problem = "this program has no PyTorch",
                 .hint = "the command of attnscope's Python package has it"});
  }
  RunInPyTorch run = open_live(command, arguments);
  session.find_open_model = [models = std::move(run.models), held = std::move(run.held)](
                                const std::string&, const std::string&) { return models; };
  session.context.compute_elsewhere = std::move(run.compute);
}

}  // namespace attnscope
