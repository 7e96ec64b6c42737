// What methods save, in elements and FLOPs, and the memory that they need while they fit.
#pragma once

#include <cstdint>

#include "attnscope/engine/context.h"
#include "attnscope/features/plan/model_size.h"
#include "attnscope/model/model.h"

namespace attnscope {

/// Products are the elements of matrices alone: each multiplies a token once.
enum class Counted { parameters, products };

/// Elements of one row of a layer's matrix, of parameters with its bias; 0 if the layer lacks it.
std::int64_t row_elements(const Model& model, std::int64_t layer, Role role, Counted counted);
/// Of one column.
std::int64_t column_elements(const Model& model, std::int64_t layer, Role role);

/// What one unit that a method removes has in one layer.
using UnitElements = std::int64_t (*)(const Model& model, std::int64_t layer, Counted counted);

/// Of all layers together.
std::int64_t unit_elements(const Model& model, UnitElements of_layer, Counted counted);

/// `before` minus the parameters and FLOPs of so many units.
ModelSize without_units(const Model& model, const ModelSize& before, std::int64_t units,
                        UnitElements of_layer);

/// Cuts the bytes of the KV cache to size / whole.
void cut_cache(ModelSize& size, std::int64_t left, std::int64_t whole);

/// Elements of the projections of all layers that can change: of MLPs, or of attention.
std::uint64_t mlp_elements(const Model& model);
std::uint64_t attention_elements(const Model& model);

/// Bytes of second moments of attention's output, their factors, and what is solved with them.
std::uint64_t attention_fitting_bytes(const Model& model, const Context& context);

/// Bytes of as many pieces of work as threads share, within the memory: one at least.
std::uint64_t bytes_at_once(std::uint64_t each, const Context& context);

}  // namespace attnscope
