#include <CLI/CLI.hpp>
#include <memory>

#include "attnscope/cli/arguments.h"
#include "attnscope/cli/command.h"
#include "attnscope/core/error.h"
#include "attnscope/pipeline/circuits.h"

namespace attnscope {
namespace {

constexpr std::int64_t kMostOffset = 100'000'000;  // tokens

struct CircuitsArguments {
  CommonArguments common;
  std::string circuit;
  std::string energy;
  std::string rope_offset;
  bool fold_norm = false;
  bool with_bias = false;
  bool all_eigenvalues = false;
  bool composition = false;
};

std::vector<Role> parse_circuits(const std::string& text) {
  const std::vector<Role> roles = parse_roles("--circuit", text);
  for (const Role role : roles) {
    if (is_product(role)) continue;
    throw Error(ErrorKind::usage, "--circuit",
                "'" + std::string(role_name(role)) + "' is not a circuit; circuits: qk, ov");
  }
  return roles;
}

CircuitsRequest make_request(const CircuitsArguments& arguments) {
  CircuitsRequest request;
  if (!arguments.circuit.empty()) request.circuits = parse_circuits(arguments.circuit);
  if (!arguments.common.layers.empty()) request.layers = LayerSelection(arguments.common.layers);
  if (!arguments.energy.empty()) {
    request.thresholds = parse_thresholds("--energy", arguments.energy);
  }
  if (!arguments.rope_offset.empty()) {
    request.variant.rope_offset =
        parse_integer("--rope-offset", arguments.rope_offset, -kMostOffset, kMostOffset);
  }
  request.variant.fold_norm = arguments.fold_norm;
  request.variant.with_bias = arguments.with_bias;
  request.all_eigenvalues = arguments.all_eigenvalues;
  request.composition = arguments.composition;
  const bool ranks = !arguments.energy.empty() || arguments.all_eigenvalues;
  if (request.composition && (!request.circuits.empty() || ranks)) {
    throw Error(ErrorKind::usage, "--composition",
                "compares pairs of heads, so --circuit, --energy and --all-eigenvalues have no "
                "meaning beside it");
  }
  return request;
}

int run(const CircuitsArguments& arguments) {
  const CircuitsRequest request = make_request(arguments);
  Context context = context_for(arguments.common);
  const ProgressMode mode = progress_mode(arguments.common);
  const std::vector<Model> models = open_models(arguments.common);
  std::optional<Store> store = open_store(arguments.common);
  context.store = store ? &*store : nullptr;
  return print_report(arguments.common, [&](RowSink& sink) {
    ProgressLine line("circuits", mode);
    context.on_progress = [&](const Progress& progress) { line.show(progress); };
    (request.composition ? run_composition : run_circuits)(models, request, context, sink);
  });
}

}  // namespace

std::function<int()> set_up_circuits(CLI::App& app) {
  const auto arguments = std::make_shared<CircuitsArguments>();
  add_common_arguments(app, arguments->common);
  add_work_arguments(app, arguments->common);
  app.add_option("--circuit", arguments->circuit, "of qk,ov (default: both)")->type_name("NAMES");
  app.add_option("--energy", arguments->energy,
                 "thresholds of the energy ranks (default: 0.9,0.99)")
      ->type_name("SHARES");
  app.add_flag("--fold-norm", arguments->fold_norm,
               "multiply Q, K and V by the gain of the norm that feeds them");
  app.add_flag("--with-bias", arguments->with_bias,
               "take biases of Q, K and V as one more input coordinate");
  app.add_option("--rope-offset", arguments->rope_offset,
                 "of rotary models: the circuit qk at this key position minus query position "
                 "(default: 0)")
      ->type_name("TOKENS");
  app.add_flag("--all-eigenvalues", arguments->all_eigenvalues,
               "copying scores of sums over heads of order above 1024 too; may take minutes");
  app.add_flag("--composition", arguments->composition,
               "instead: how much every head reads of what each head of earlier layers writes");
  return [arguments] { return run(*arguments); };
}

}  // namespace attnscope
