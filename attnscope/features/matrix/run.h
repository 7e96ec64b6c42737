// `matrix`: one matrix in canonical orientation, as the analyses see it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "attnscope/base/matrix_view.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

struct MatrixRequest {
  std::int64_t layer = 0;  // negative counts from the end
  Role role = Role::query;
  std::optional<std::int64_t> head;  // none: the whole matrix, or the circuit summed over heads
  std::optional<std::int64_t> expert = {};  // whose gate, up or down it is
};

/// float32 for weights (float64 where the file stores float64), float64 for products, which are
/// (D, D). Throws Error(usage) for a layer, head or expert out of range, Error(unsupported) for a
/// dtype that holds no real numbers.
WeightMatrix extract_matrix(const Model& model, const MatrixRequest& request);

/// The matrix of every model; one row for each matrix row, with its `values`.
void run_matrix(std::span<const Model> models, const MatrixRequest& request, RowSink& sink);

}  // namespace attnscope
