#include "attnscope/features/common/options/device_options.h"

#include <algorithm>

namespace attnscope {

Parameters device_parameters(bool chooses_dtype) {
  Parameters parameters = {
      {.name = "device",
       .type = ParameterType::text,
       .group = OptionGroup::performance,
       .help = "run the model in PyTorch on this device: cpu, cuda, cuda:1, mps, or auto for a GPU "
               "if there is one; needs torch and transformers",
       .metavariable = "DEVICE",
       .default_words = "the engine of attnscope, on the CPU"}};
  if (chooses_dtype) {
    parameters.push_back({.name = "dtype",
                          .type = ParameterType::choice,
                          .group = OptionGroup::performance,
                          .help = "with {device}: element type of the weights",
                          .metavariable = "TYPE",
                          .choices = {"auto", "float32", "bfloat16", "float16"},
                          .default_words = "auto: as in the config"});
  }
  return parameters;
}

bool is_of_device(const Parameter& parameter) {
  const Parameters own = device_parameters();
  return std::any_of(own.begin(), own.end(), [&](const Parameter& one) {
    return one.name == parameter.name && one.help == parameter.help;
  });
}

}  // namespace attnscope
