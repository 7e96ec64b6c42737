#include "attnscope/features/matrix/run.h"

#include "attnscope/base/error.h"
#include "attnscope/base/heads.h"
#include "attnscope/base/text.h"
#include "attnscope/engine/summary_rows.h"
#include "attnscope/features/common/circuit_factors.h"
#include "attnscope/features/common/mla_head_weights.h"
#include "attnscope/features/common/read_weight.h"
#include "attnscope/model/summary.h"
#include "attnscope/numerics/products/dense_products.h"

namespace attnscope {
namespace {

[[noreturn]] void refuse_parameter(const char* parameter, const std::string& problem) {
  throw Error(ErrorKind::usage, {.parameter = parameter, .problem = problem});
}

/// Resolves a negative layer. Throws Error(usage) if the layer, matrix, head or expert does not
/// exist.
MatrixRequest resolve_request(const Model& model, MatrixRequest request) {
  const std::string name = model.name();
  const std::int64_t layers = model.dimensions().layers;
  if (request.layer < -layers || request.layer >= layers) {
    refuse_parameter("layer", '\'' + std::to_string(request.layer) + "': " + name +
                                  " has layers 0 to " + std::to_string(layers - 1));
  }
  if (request.layer < 0) request.layer += layers;
  const std::string role(role_name(request.role));
  const bool of_experts = is_of_mlp(request.role) && model.spec().has_experts(request.layer) &&
                          model.describes_of_expert(request.role);
  if (!of_experts && !model.has(request.role)) {
    refuse_parameter("matrix", name + " has no '" + role + "'");
  }
  const std::string layer_text = "layer " + std::to_string(request.layer) + " of " + name;
  const std::int64_t experts = model.dimensions().experts;
  if (of_experts && !request.expert) {
    refuse_parameter("expert", "missing: " + layer_text + " has a matrix '" + role +
                                   "' for each of " + counted(experts, "expert"));
  }
  if (request.expert && !of_experts) {
    refuse_parameter("expert", layer_text + " has no experts for '" + role + "'");
  }
  if (request.expert && (*request.expert < 0 || *request.expert >= experts)) {
    refuse_parameter("expert", name + " has experts 0 to " + std::to_string(experts - 1));
  }
  const std::int64_t heads = model.dimensions(request.layer).heads.count(request.role);
  if (request.head && heads == 0) {
    refuse_parameter("head", "MLP matrices have no heads");
  }
  if (request.head && (*request.head < 0 || *request.head >= heads)) {
    refuse_parameter("head", name + " has heads 0 to " + std::to_string(heads - 1) + " of " +
                                 std::string(role_name(request.role)));
  }
  return request;
}

template <class M>
M require(Read<M> read, const Model& model, const Weight& weight) {
  if (weight.tensor == nullptr) {
    throw Error(ErrorKind::format,
                {.file = model.checkpoint().main_file().string(), .problem = weight.missing});
  }
  if (!read.skipped.empty()) {
    throw Error(ErrorKind::unsupported, model.checkpoint().place_of(*weight.tensor), read.skipped);
  }
  return std::move(read.values);
}

/// The first stored matrix of a role that is missing in the files, or the first one if none is.
const Weight& first_part(const Model& model, std::int64_t layer, Role role) {
  const std::vector<Role> parts = model.parts_of(role);
  for (const Role part : parts) {
    if (model.weight(layer, part).tensor == nullptr) return model.weight(layer, part);
  }
  return model.weight(layer, parts.front());
}

template <class T>
Matrix<T> copy_of(MatrixView<const T> view) {
  Matrix<T> out(view.rows, view.cols);
  for (std::int64_t row = 0; row < view.rows; ++row) {
    for (std::int64_t col = 0; col < view.cols; ++col) out(row, col) = view(row, col);
  }
  return out;
}

WeightMatrix cut_head(const WeightMatrix& whole, Role role, std::int64_t head,
                      const HeadShape& shape) {
  return std::visit(
      [&](const auto& matrix) -> WeightMatrix {
        if (role == Role::kv) return stacked_head(matrix.view(), head, shape);
        return copy_of(head_slice(matrix.view(), role, head, shape));
      },
      whole);
}

/// The product (rows, columns) of a circuit with loaded factors, for one head or summed over heads.
WeightMatrix multiplied(const LoadedCircuit& loaded, std::optional<std::int64_t> head) {
  const SumFactors sum = loaded.sum();
  const CircuitFactors factors = head ? head_factors(loaded.weights(), *head) : sum.factors;
  return multiply_transposed(factors.left.transposed(), factors.right.transposed());
}

WeightMatrix extract_product(const Model& model, const MatrixRequest& request) {
  if (is_mla_product(request.role)) {
    const LoadedCircuit loaded =
        load_mla_product(model, request.layer, request.role, /*rms=*/{}, /*narrowed=*/false);
    if (!loaded.skipped.empty()) {
      throw Error(ErrorKind::numerical,
                  {.file = model.name(), .layer = request.layer, .problem = loaded.skipped});
    }
    return multiplied(loaded, request.head);
  }
  const auto factors = factors_of(request.role);
  const auto factor = [&](Role role) {
    return require(read_factor(model, request.layer, role), model,
                   first_part(model, request.layer, role));
  };
  return multiplied({.circuit = request.role,
                     .left = factor(factors[0]),
                     .right = factor(factors[1]),
                     .heads = model.dimensions(request.layer).heads},
                    request.head);
}

}  // namespace

WeightMatrix extract_matrix(const Model& model, const MatrixRequest& asked) {
  const MatrixRequest request = resolve_request(model, asked);
  if (is_product(request.role)) return extract_product(model, request);
  if (request.expert) {
    const Weight weight = model.expert_weight(request.layer, *request.expert, request.role);
    return require(read_weight(model, weight), model, weight);
  }
  auto read = request.head ? read_heads(model, request.layer, request.role)
                           : read_matrix(model, request.layer, request.role);
  WeightMatrix whole =
      require(std::move(read), model, first_part(model, request.layer, request.role));
  if (!request.head) return whole;
  return cut_head(whole, request.role, *request.head, model.dimensions(request.layer).heads);
}

void run_matrix(std::span<const Model> models, const MatrixRequest& request, RowSink& sink) {
  ReportHead head{
      .command = "matrix",
      .parameters = {
          {"layer", request.layer}, {"matrix", role_name(request.role)}, {"head", request.head}}};
  if (request.expert) head.parameters.add("expert", request.expert);
  for (const Model& model : models) {
    resolve_request(model, request);
    head.models.push_back(facts_record(summarize(model)));
  }
  sink.begin(head);
  for (const Model& model : models) {
    const std::int64_t layer = resolve_request(model, request).layer;
    const auto add_rows = [&](const auto& dense) {
      for (std::int64_t row = 0; row < dense.rows(); ++row) {
        const auto* first = dense.data() + row * dense.cols();
        Record fields = {{"model", model.name()},
                         {"layer", layer},
                         {"matrix", role_name(request.role)},
                         {"head", request.head}};
        if (request.expert) fields.add("expert", request.expert);
        sink.add_row(
            fields.add("row", row).add("values", std::vector<double>(first, first + dense.cols())));
      }
    };
    std::visit(add_rows, extract_matrix(model, request));
  }
  sink.end();
}

}  // namespace attnscope
