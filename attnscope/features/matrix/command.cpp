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
    throw Error(ErrorKind::usage,
                {.parameter = "out", .problem = "a .npy file holds the matrix of one model"});
  }
  return extract_matrix(models.front(), matrix_request(arguments));
}

Parameters matrix_parameters() {
  const std::string missing = "is needed", hint = "for example: {layer} 0 {matrix} q";
  return {{.name = "layer",
           .type = integer,
           .help = "the layer (negative counts from the end)",
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
           .help = "one head of it: a query head, for k, v and kv a key/value head",
           .metavariable = "H",
           .least = 0,
           .most = kMaxSize},
          {.name = "expert",
           .type = integer,
           .help = "of layers with experts: whose gate, up or down",
           .metavariable = "E",
           .least = 0,
           .most = kMaxSize}};
}

}  // namespace

Command matrix_command() {
  return {.name = "matrix",
          .summary = "one matrix in canonical orientation, as the analyses see it",
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
