#include "attnscope/features/matrix/run.h"

#include "attnscope/base/error.h"
#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/framework/open_models.h"

namespace attnscope {
namespace {

using enum ParameterType;

MatrixRequest matrix_request(const Arguments& arguments) {
  return {.layer = *arguments.integer("layer"),
          .role = *arguments.find<Role>("matrix"),
          .head = arguments.integer("head"),
          .expert = arguments.integer("expert")};
}

void run_matrix_command(const Arguments& arguments, const Session& session, RowSink& sink) {
  run_matrix(open_models(arguments, session), matrix_request(arguments), sink);
}

WeightMatrix array(const Arguments& arguments, const Session& session) {
  const std::vector<Model> models = open_models(arguments, session);
  if (models.size() > 1) {
    throw Error(
        ErrorKind::usage,
        {.parameter = "out", .problem = "a .npy file can store the matrix of one model only"});
  }
  return extract_matrix(models.front(), matrix_request(arguments));
}

Parameters matrix_parameters() {
  const std::string missing = "missing", hint = "for example: {layer} 0 {matrix} q";
  return {{.name = "layer",
           .type = integer,
           .help = "layer index; negative numbers count from the end",
           .metavariable = "L",
           .least = -kMaxLayers,
           .most = kMaxLayers,
           .missing = missing,
           .missing_hint = hint},
          {.name = "matrix",
           .type = role,
           .metavariable = "NAME",
           .choices = role_names(),
           .missing = missing,
           .missing_hint = hint},
          {.name = "head",
           .type = integer,
           .help = "select one head: a query head, or for k, v and kv a key/value head",
           .metavariable = "H",
           .least = 0,
           .most = kMaxSize},
          {.name = "expert",
           .type = integer,
           .help = "MoE layers: select the gate, up or down matrix of this expert",
           .metavariable = "E",
           .least = 0,
           .most = kMaxSize}};
}

}  // namespace

Command matrix_command() {
  return {.name = "matrix",
          .summary = "Print one weight matrix in canonical orientation",
          .examples = {{{"models", "MODEL"}, {"layer", "0"}, {"matrix", "q"}},
                       {{"models", "MODEL"},
                        {"layer", "3"},
                        {"matrix", "qk"},
                        {"head", "2"},
                        {"out", "qk.npy"}}},
          .parameters =
              joined({matrix_parameters(), remote_model_parameters(), output_parameters({".npy"})}),
          .run = run_matrix_command,
          .array = array};
}

}  // namespace attnscope
