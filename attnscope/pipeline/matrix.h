// `matrix`: one matrix in canonical orientation, as the analyses see it.
#pragma once

#include <cstdint>
#include <optional>

#include "attnscope/core/matrix_view.h"
#include "attnscope/model/model.h"
#include "attnscope/results/report.h"

namespace attnscope {

struct MatrixRequest {
  std::int64_t layer = 0;
  Role role = Role::query;
  std::optional<std::int64_t> head;  // none: the whole matrix, or the circuit summed over heads
};

/// float32 for weights (float64 where the file stores float64), float64 for products, which are
/// (D, D). Throws Error(usage) for a layer or head out of range, Error(unsupported) for a dtype
/// that holds no real numbers.
WeightMatrix extract_matrix(const Model& model, const MatrixRequest& request);

/// One row for each of the matrix's: `row`, `values`.
Report matrix_report(const Model& model, const MatrixRequest& request, const WeightMatrix& matrix);

}  // namespace attnscope
