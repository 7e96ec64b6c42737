// Reader of the tensors of a checkpoint for a forward pass, with checks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/forward/weights/forward_weights.h"

namespace attnscope {

/// Throws Error(format) if a tensor is missing or has another shape, Error(unsupported) for a dtype
/// that cannot be decoded.
class TensorReader {
 public:
  /// All arguments must outlive this object. `copy_weights`: see ForwardWeights::read().
  TensorReader(const Model& model, bool copy_weights, const Compute& compute)
      : model_(model), spec_(model.spec()), copy_(copy_weights), compute_(compute) {}

  [[noreturn]] void refuse(const std::string& problem, std::optional<std::int64_t> layer) const;

  const CheckpointTensor& need(const Site& site,
                               std::optional<std::int64_t> layer = std::nullopt) const;
  void check_dtype(const CheckpointTensor& tensor) const;

  /// Returns all values, row by row.
  std::vector<float> values(const TensorMatrix& matrix) const;
  std::vector<float> values(const CheckpointTensor& tensor) const;
  float scalar(const ScalarSite& site) const;
  /// Returns a tensor with any number of axes as a matrix, with the first axis as rows.
  TensorMatrix rows_of(const CheckpointTensor& tensor) const;
  /// Returns all values as rows of `cols` columns.
  Matrix<float> rows_of_width(const CheckpointTensor& tensor, std::int64_t cols) const;

  /// Reads a norm of this size. Without a layer, the norm's name is a full tensor name.
  OptionalNorm norm(const std::optional<NormSpec>& norm, std::optional<std::int64_t> layer,
                    std::int64_t size) const;
  NormWeights norm_of_shape(const NormSpec& norm, std::optional<std::int64_t> layer,
                            const Shape& shape) const;

  /// Returns a table (any, cols), by full name or by the name after the prefix. Empty if the name
  /// is empty.
  RowTable table(const std::string& name, std::int64_t cols) const;
  RowTable table_under_prefix(const std::string& name, std::int64_t cols) const;

  /// Returns whether the parts are copied to memory. Only for float32 (and float64) files is a copy
  /// no larger than the file.
  bool copies(const std::vector<TensorMatrix>& parts) const;
  SharedLinear make_linear(std::vector<TensorMatrix> parts, std::vector<float> bias,
                           bool copied) const;
  /// Reads a linear layer that is not a projection of the model, with its bias if the file has one.
  SharedLinear linear(const std::string& name, std::int64_t outputs, std::int64_t inputs) const;
  /// Reads the bias of a layer by its usual names. Empty if the file has none.
  std::vector<float> bias_of(const std::string& name, std::int64_t outputs) const;

  const Model& model() const { return model_; }
  const Compute& compute() const { return compute_; }

 protected:
  const Model& model_;
  const ModelSpec& spec_;
  const bool copy_;
  const Compute& compute_;
};

}  // namespace attnscope
