#include "attnscope/features/plan/methods/method_costs.h"

#include <algorithm>

#include "attnscope/features/common/calibration/text_statistics.h"

namespace attnscope {
namespace {

std::uint64_t projection_elements(const Model& model, bool of_mlp) {
  std::uint64_t sum = 0;
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    for (const Role role : stored_projections(model, layer)) {
      const TensorMatrix& matrix = model.weight(layer, role).matrix;
      if (is_of_mlp(role) == of_mlp) sum += static_cast<std::uint64_t>(matrix.rows * matrix.cols);
    }
  }
  return sum;
}

}  // namespace

std::int64_t row_elements(const Model& model, std::int64_t layer, Role role, Counted counted) {
  const Weight& weight = model.weight(layer, role);
  if (weight.tensor == nullptr) return 0;
  const bool with_bias = counted == Counted::parameters && weight.bias != nullptr;
  return weight.matrix.cols + (with_bias ? 1 : 0);
}

std::int64_t column_elements(const Model& model, std::int64_t layer, Role role) {
  const Weight& weight = model.weight(layer, role);
  return weight.tensor == nullptr ? 0 : weight.matrix.rows;
}

std::int64_t unit_elements(const Model& model, UnitElements of_layer, Counted counted) {
  std::int64_t sum = 0;
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    sum += of_layer(model, layer, counted);
  }
  return sum;
}

ModelSize without_units(const Model& model, const ModelSize& before, std::int64_t units,
                        UnitElements of_layer) {
  ModelSize out = before;
  out.parameters -= unit_elements(model, of_layer, Counted::parameters) * units;
  out.flops_per_token -=
      2 * static_cast<double>(unit_elements(model, of_layer, Counted::products) * units);
  return out;
}

void cut_cache(ModelSize& size, std::int64_t left, std::int64_t whole) {
  size.kv_cache_bytes_per_token = size.kv_cache_bytes_per_token * left / whole;
}

std::uint64_t mlp_elements(const Model& model) { return projection_elements(model, true); }

std::uint64_t attention_elements(const Model& model) { return projection_elements(model, false); }

std::uint64_t attention_fitting_bytes(const Model& model, const Context&) {
  constexpr std::uint64_t kMatrices = 6;
  const Dimensions& dimensions = model.dimensions();
  const auto n = static_cast<std::uint64_t>(
      std::max(dimensions.width, dimensions.heads.total_dim(Role::output)));
  return kMatrices * n * n * sizeof(double);
}

std::uint64_t bytes_at_once(std::uint64_t each, const Context& context) {
  const std::uint64_t room = std::max(each, context.memory_bytes / 2);
  return std::min(room, each * static_cast<std::uint64_t>(context.threads));
}

}  // namespace attnscope
