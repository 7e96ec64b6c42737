#include "attnscope/pipeline/read_weight.h"

#include <cmath>

namespace attnscope {
namespace {

template <class M, class Decode>
Read<M> read(const Checkpoint& checkpoint, const CheckpointTensor& tensor,
             const StoredMatrix& stored, Decode decode_matrix) {
  if (const auto reason = why_not_analysed(checkpoint, tensor)) return {{}, *reason};
  Read<M> out{decode_matrix(stored), ""};
  checkpoint.check_intact(tensor);
  return out;
}

}  // namespace

Read<WeightMatrix> read_weight(const Model& model, const Weight& weight) {
  return read<WeightMatrix>(model.checkpoint(), *weight.tensor, weight.matrix, decode_exact);
}

Read<Matrix<double>> read_weight_float64(const Model& model, const Weight& weight) {
  return read<Matrix<double>>(model.checkpoint(), *weight.tensor, weight.matrix, decode<double>);
}

Read<WeightMatrix> read_tensor(const Checkpoint& checkpoint, const CheckpointTensor& tensor) {
  return read<WeightMatrix>(checkpoint, tensor, whole_matrix(tensor.view), decode_exact);
}

template <class T>
std::optional<std::string> find_not_finite(MatrixView<const T> matrix) {
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t col = 0; col < matrix.cols; ++col) {
      if (std::isfinite(matrix(row, col))) continue;
      return "holds NaN or Inf (first at row " + std::to_string(row) + ", column " +
             std::to_string(col) + ")";
    }
  }
  return std::nullopt;
}

template std::optional<std::string> find_not_finite(MatrixView<const float>);
template std::optional<std::string> find_not_finite(MatrixView<const double>);

}  // namespace attnscope
