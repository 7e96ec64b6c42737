// Savings of methods in elements and FLOPs, and their memory during calibration.
#pragma once

#include <cstdint>

#include "attnscope/engine/context.h"
#include "attnscope/features/plan/model_size.h"
#include "attnscope/model/model.h"

namespace attnscope {

/// `products` counts only matrix elements: each is multiplied with a token once.
enum class Counted { parameters, products };

/// Elements of one row of a matrix; `parameters` includes its bias. 0 if the layer has no such
/// matrix.
std::int64_t row_elements(const Model& model, std::int64_t layer, Role role, Counted counted);
/// Elements of one column.
std::int64_t column_elements(const Model& model, std::int64_t layer, Role role);

/// Elements of one removed unit in one layer.
using UnitElements = std::int64_t (*)(const Model& model, std::int64_t layer, Counted counted);

/// The sum over all layers.
std::int64_t unit_elements(const Model& model, UnitElements of_layer, Counted counted);

/// `before` minus the parameters and FLOPs of `units` units.
ModelSize without_units(const Model& model, const ModelSize& before, std::int64_t units,
                        UnitElements of_layer);

/// Scales the KV-cache bytes by left / whole.
void cut_cache(ModelSize& size, std::int64_t left, std::int64_t whole);

/// Elements of the changeable projections of all layers, in MLPs or in attention.
std::uint64_t mlp_elements(const Model& model);
std::uint64_t attention_elements(const Model& model);

/// Bytes for second moments of the input of W_O, their factorization and the solve.
std::uint64_t attention_fitting_bytes(const Model& model, const Context& context);

/// Bytes of one work item per thread, within the memory limit but at least one item.
std::uint64_t bytes_at_once(std::uint64_t each, const Context& context);

}  // namespace attnscope
