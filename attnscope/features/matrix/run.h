// `matrix`: one matrix in canonical orientation, as analyses use it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "attnscope/base/matrix_view.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

struct MatrixRequest {
  std::int64_t layer = 0;  // negative numbers count from the end
  Role role = Role::query;
  std::optional<std::int64_t> head;  // none: the whole matrix, or the circuit summed over heads
  std::optional<std::int64_t> expert = {};  // expert of a gate, up or down matrix
};

/// Returns float32 for weights (float64 if the file stores float64), and float64 for products (D,
/// D). Throws Error(usage) for a layer, head or expert out of range, and Error(unsupported) for a
/// dtype without real numbers.
WeightMatrix extract_matrix(const Model& model, const MatrixRequest& request);

/// Prints the matrix of every model: one report row per matrix row, with its `values`.
void run_matrix(std::span<const Model> models, const MatrixRequest& request, RowSink& sink);

}  // namespace attnscope
