// Tensors of a checkpoint as a forward pass wants them, each checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/forward/weights/forward_weights.h"

namespace attnscope {

/// Throws Error(format) for what is missing or has another shape, Error(unsupported) for a dtype
/// that is not decoded.
class TensorReader {
 public:
  /// All must outlive it. `copy_weights`: see ForwardWeights::read().
  TensorReader(const Model& model, bool copy_weights, const Compute& compute)
      : model_(model), spec_(model.spec()), copy_(copy_weights), compute_(compute) {}

  [[noreturn]] void refuse(const std::string& problem, std::optional<std::int64_t> layer) const;

  const CheckpointTensor& need(const Site& site,
                               std::optional<std::int64_t> layer = std::nullopt) const;
  void check_dtype(const CheckpointTensor& tensor) const;

  /// All values, row by row.
  std::vector<float> values(const TensorMatrix& matrix) const;
  std::vector<float> values(const CheckpointTensor& tensor) const;
  float scalar(const ScalarSite& site) const;
  /// All of a tensor with more axes as a matrix whose rows are its first one's.
  TensorMatrix rows_of(const CheckpointTensor& tensor) const;
  /// All values as rows of so many columns.
  Matrix<float> rows_of_width(const CheckpointTensor& tensor, std::int64_t cols) const;

  /// (size,); with no layer, the norm's name is a full name.
  OptionalNorm norm(const std::optional<NormSpec>& norm, std::optional<std::int64_t> layer,
                    std::int64_t size) const;
  NormWeights norm_of_shape(const NormSpec& norm, std::optional<std::int64_t> layer,
                            const Shape& shape) const;

  /// (any, cols), by its full name, or by its name under the prefix; none where that is empty.
  RowTable table(const std::string& name, std::int64_t cols) const;
  RowTable table_under_prefix(const std::string& name, std::int64_t cols) const;

  /// A copy in memory needs no decoding and is as large as the file only where that is float32.
  bool copies(const std::vector<TensorMatrix>& parts) const;
  SharedLinear make_linear(std::vector<TensorMatrix> parts, std::vector<float> bias,
                           bool copied) const;
  /// A linear layer that is no projection, its bias beside it where the file has one.
  SharedLinear linear(const std::string& name, std::int64_t outputs, std::int64_t inputs) const;
  /// Its bias, by the usual names; empty where the file has none.
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
