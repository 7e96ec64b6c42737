// The linear layers of a forward pass, in float32: y = x Wᵀ.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/core/activation.h"
#include "attnscope/core/matrix_view.h"
#include "attnscope/numerics/aligned_buffer.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/tensor/tensor_matrix.h"

namespace attnscope {

/// W of y = x Wᵀ: one or several matrices (outputs, inputs) of a file, stacked by rows. Values are
/// float32; only float64 is rounded.
class LinearWeights {
 public:
  LinearWeights() = default;

  /// `parts` have equally many columns, and a dtype of class `real`. packed: their values are
  /// copied, laid out for products; else they are decoded before each use, from bytes that must
  /// stay. Either way gives the same digits. Throws std::bad_alloc, and Stopped.
  LinearWeights(std::vector<TensorMatrix> parts, bool packed, const Compute& compute);

  std::int64_t outputs() const { return outputs_; }
  std::int64_t inputs() const { return inputs_; }

  /// What a packed copy takes; the largest integer where that is more.
  static std::int64_t packed_bytes(std::int64_t outputs, std::int64_t inputs);

 private:
  friend struct LinearProduct;

  std::int64_t outputs_ = 0, inputs_ = 0;
  std::vector<TensorMatrix> parts_;
  bool packed_ = false;
  AlignedBuffer<float> panels_;  // where the CPU has kernels
  Matrix<float> plain_;          // where it has none
};

/// What is done to the sums before they are written: y = activation(x Wᵀ + bias) * multiply + add,
/// element by element.
struct LinearEpilogue {
  std::span<const float> bias = {};            // (outputs,), or empty
  Activation activation = Activation::linear;  // as activate() has it
  MatrixView<const float> multiply = {};       // (rows, outputs), or no data
  MatrixView<const float> add = {};            // (rows, outputs), or no data
};

/// x (rows, inputs) to out (rows, outputs), whose rows lie together, as do those of `multiply` and
/// `add`; either may be `out` itself, x may not. The weights were made for the kernels of
/// `compute`. A row has the same digits whatever other rows there are.
void apply_linear(MatrixView<const float> x, const LinearWeights& weights,
                  const LinearEpilogue& epilogue, MatrixView<float> out, const Compute& compute);

}  // namespace attnscope
