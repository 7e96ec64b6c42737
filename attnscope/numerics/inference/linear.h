// Linear layers of the forward pass, in float32: y = x Wᵀ.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/base/activation.h"
#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/aligned_buffer.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/tensor/tensor_matrix.h"

namespace attnscope {

/// The matrix W of y = x Wᵀ: one or several matrices (outputs, inputs) of a file, stacked by rows.
/// Values are float32; float64 values are rounded.
class LinearWeights {
 public:
  LinearWeights() = default;

  /// `parts` must have the same number of columns and a dtype of class `real`. `packed`: copies the
  /// values in a layout for products. Otherwise they are decoded before each use, from bytes that
  /// must outlive this object. Both give the same digits. Throws std::bad_alloc, and Stopped.
  LinearWeights(std::vector<TensorMatrix> parts, bool packed, const Compute& compute);
  /// Uses a matrix (outputs, inputs) in memory with contiguous rows.
  LinearWeights(MatrixView<const float> matrix, bool packed, const Compute& compute);

  std::int64_t outputs() const { return outputs_; }
  std::int64_t inputs() const { return inputs_; }

  /// Returns the bytes of a packed copy, or the largest integer on overflow.
  static std::int64_t packed_bytes(std::int64_t outputs, std::int64_t inputs);

 private:
  friend struct LinearProduct;

  std::int64_t outputs_ = 0, inputs_ = 0;
  std::vector<TensorMatrix> parts_;
  bool packed_ = false;
  AlignedBuffer<float> panels_;  // used if the CPU has kernels
  Matrix<float> plain_;          // used otherwise
};

/// Applied to the sums before they are written: y = activation(x Wᵀ + bias) * multiply + add,
/// element by element.
struct LinearEpilogue {
  std::span<const float> bias = {};            // (outputs,), or empty
  Activation activation = Activation::linear;  // as in activate()
  MatrixView<const float> multiply = {};       // (rows, outputs), or no data
  MatrixView<const float> add = {};            // (rows, outputs), or no data
};

/// Computes out (rows, outputs) from x (rows, inputs). `out`, `multiply` and `add` must have
/// contiguous rows. `multiply` and `add` may alias `out`, but x may not. The weights must have been
/// made for the kernels of `compute`. A row's digits do not depend on other rows.
void apply_linear(MatrixView<const float> x, const LinearWeights& weights,
                  const LinearEpilogue& epilogue, MatrixView<float> out, const Compute& compute);

}  // namespace attnscope
