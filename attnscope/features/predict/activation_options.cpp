#include "attnscope/features/predict/activation_options.h"

#include <algorithm>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"

namespace attnscope {

using enum ParameterType;

Parameters activation_parameters() {
  return {{.name = "activations",
           .type = several,
           .group = OptionGroup::output,
           .help = "with {save}: write these activations instead, by their names in "
                   "TransformerLens, such as resid_post,z,pattern (docs/metrics.md lists them)",
           .metavariable = "NAMES",
           .choices = {hook_names().begin(), hook_names().end()}},
          {.name = "layers",
           .type = layers,
           .group = OptionGroup::output,
           .help = "with {activations}: only these layers",
           .metavariable = "LAYERS",
           .default_words = "all"},
          {.name = "heads",
           .type = layers,
           .group = OptionGroup::output,
           .help = "with {activations}: only these heads of each layer, from 0; for k and v, "
                   "key/value heads",
           .metavariable = "HEADS",
           .default_words = "all"},
          {.name = "positions",
           .type = text,
           .group = OptionGroup::output,
           .help = "with {activations}: only these positions, from 0: last, 10-, 3,7 or 5-9; for "
                   "attention maps, query positions",
           .metavariable = "POSITIONS",
           .default_words = "all"},
          {.name = "dtype",
           .type = choice,
           .group = OptionGroup::output,
           .help = "with {activations}: element type",
           .metavariable = "TYPE",
           .choices = {"float32", "float16", "bfloat16"},
           .default_text = "float32"}};
}

std::optional<NamedActivations> activation_request(const Arguments& arguments) {
  const auto refuse = [](const char* parameter, std::string problem, std::string hint = "") {
    throw Error(ErrorKind::usage,
                {.parameter = parameter, .problem = std::move(problem), .hint = std::move(hint)});
  };
  if (!arguments.given("activations")) {
    for (const char* name : {"layers", "heads", "positions", "dtype"}) {
      if (arguments.given(name)) refuse(name, "requires {activations}");
    }
    return std::nullopt;
  }
  if (!arguments.given("save")) refuse("activations", "requires {save}");
  NamedActivations request{.layers = arguments.layers("layers"),
                           .heads = arguments.layers("heads")};
  for (const std::string& name : arguments.texts("activations")) {
    request.points.push_back(*hook_from_name(name));
  }
  std::sort(request.points.begin(), request.points.end());
  const std::string type = arguments.text("dtype");
  if (type == "float16") request.dtype = DType::f16;
  if (type == "bfloat16") request.dtype = DType::bf16;
  if (!arguments.given("positions")) return request;
  const std::string text = arguments.text("positions");
  const auto ranges = parse_position_ranges(text);
  if (!ranges || ranges->empty()) {
    refuse("positions", "'" + verbatim(text) + "' is not a list of positions",
           "for example: last, 10-, 3,7 or 5-9");
  }
  request.positions = *ranges;
  return request;
}

}  // namespace attnscope
