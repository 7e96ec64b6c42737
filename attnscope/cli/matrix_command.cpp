#include <CLI/CLI.hpp>
#include <memory>

#include "attnscope/cli/arguments.h"
#include "attnscope/cli/command.h"
#include "attnscope/cli/output_target.h"
#include "attnscope/core/error.h"
#include "attnscope/output/npy.h"
#include "attnscope/pipeline/matrix.h"
#include "attnscope/pipeline/selection.h"

namespace attnscope {
namespace {

struct MatrixArguments {
  CommonArguments common;
  std::string layer;
  std::string matrix;
  std::string head;
};

MatrixRequest make_request(const MatrixArguments& arguments) {
  if (arguments.layer.empty() || arguments.matrix.empty()) {
    throw Error(ErrorKind::usage, arguments.layer.empty() ? "--layer" : "--matrix",
                "is needed (for example: --layer 0 --matrix q)");
  }
  MatrixRequest request;
  request.role = parse_role("--matrix", arguments.matrix);
  request.layer = parse_integer("--layer", arguments.layer, -kMaxLayers, kMaxLayers);
  if (!arguments.head.empty()) {
    request.head = parse_integer("--head", arguments.head, 0, kMaxSize);
  }
  return request;
}

int run(const MatrixArguments& arguments) {
  const MatrixRequest request = make_request(arguments);
  const std::vector<Model> models = open_models(arguments.common);
  if (!arguments.common.out.ends_with(".npy")) {
    return print_report(arguments.common,
                        [&](RowSink& sink) { run_matrix(models, request, sink); });
  }
  if (!arguments.common.format.empty()) {
    throw Error(ErrorKind::usage, "--format", "a .npy file has its own format");
  }
  if (models.size() > 1) {
    throw Error(ErrorKind::usage, "--out", "a .npy file holds the matrix of one model");
  }
  OutputTarget target(arguments.common.out);
  const WeightMatrix matrix = extract_matrix(models.front(), request);
  target.write([&](std::ostream& out) { write_npy(matrix, out); });
  return 0;
}

}  // namespace

std::function<int()> set_up_matrix(CLI::App& app) {
  const auto arguments = std::make_shared<MatrixArguments>();
  add_common_arguments(app, arguments->common);
  app.add_option("--layer", arguments->layer, "the layer (negative counts from the end)")
      ->type_name("L");
  app.add_option("--matrix", arguments->matrix, "one of q,k,v,o,gate,up,down,qk,ov,kv")
      ->type_name("NAME");
  app.add_option("--head", arguments->head,
                 "one head of it: a query head, for k, v and kv a key/value head")
      ->type_name("H");
  return [arguments] { return run(*arguments); };
}

}  // namespace attnscope
