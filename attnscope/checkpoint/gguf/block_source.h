// Quantized tensors: rows of blocks.
#pragma once

#include "attnscope/checkpoint/gguf/gguf_file.h"
#include "attnscope/tensor/tensor_view.h"

namespace attnscope {

/// Rows of whole blocks. Each block is decoded independently. The bytes must outlive the source.
class BlockSource : public ValueSource {
 public:
  /// `bytes`: rows * (cols / type.block_values) blocks. type.decode must not be null.
  BlockSource(const GgmlType& type, std::span<const std::byte> bytes, std::int64_t cols);

  void decode(std::int64_t first_row, std::int64_t first_col, MatrixView<float> out) const override;
  std::vector<std::span<const std::byte>> reads(std::int64_t first_row, std::int64_t rows,
                                                std::int64_t first_col,
                                                std::int64_t cols) const override;

 private:
  GgmlType type_;
  std::span<const std::byte> bytes_;
  std::int64_t row_bytes_;
};

/// Returns a view of the tensor: plain values in place, others through a source. A tensor of an
/// unsupported type can only be listed.
TensorView view_of(const GgufTensor& tensor, bool big_endian);

}  // namespace attnscope
