#include "attnscope/adapters/merged_matrix.h"

#include <algorithm>
#include <utility>

#include "attnscope/tensor/encode.h"

namespace attnscope {
namespace {

/// The part of a matrix without row blocks.
TensorMatrix part_of(const TensorMatrix& matrix, const MatrixBlock& block) {
  TensorMatrix part = matrix;
  part.first += block.first_row * matrix.row_stride + block.first_col * matrix.col_stride;
  part.rows = block.rows;
  part.cols = block.cols;
  part.block_rows = std::max<std::int64_t>(block.rows, 1);
  return part;
}

class StoredMatrix : public MergedMatrix {
 public:
  explicit StoredMatrix(const TensorMatrix& matrix)
      : MergedMatrix(matrix.rows, matrix.cols), matrix_(matrix) {}

  void read(std::int64_t first_row, std::int64_t first_col, MatrixView<double> out) const override {
    decode_block(matrix_, first_row, first_col, out);
  }

  void add_reads(const MatrixBlock& block, ByteRanges& out) const override {
    const ByteRanges own = byte_ranges(part_of(matrix_, block));
    out.insert(out.end(), own.begin(), own.end());
  }

  MergedMatrixPtr transpose() const {
    TensorMatrix turned = matrix_;
    std::swap(turned.rows, turned.cols);
    std::swap(turned.row_stride, turned.col_stride);
    turned.block_rows = std::max<std::int64_t>(turned.rows, 1);
    return std::make_shared<StoredMatrix>(turned);
  }

 private:
  TensorMatrix matrix_;
};

class TransposedMatrix : public MergedMatrix {
 public:
  explicit TransposedMatrix(MergedMatrixPtr inner)
      : MergedMatrix(inner->cols(), inner->rows()), inner_(std::move(inner)) {}

  void read(std::int64_t first_row, std::int64_t first_col, MatrixView<double> out) const override {
    Matrix<double> block(out.cols, out.rows);
    inner_->read(first_col, first_row, block.view());
    for (std::int64_t row = 0; row < out.rows; ++row) {
      for (std::int64_t col = 0; col < out.cols; ++col) out(row, col) = block(col, row);
    }
  }

  void add_reads(const MatrixBlock& block, ByteRanges& out) const override {
    inner_->add_reads({block.first_col, block.cols, block.first_row, block.rows}, out);
  }

  const MergedMatrixPtr& inner() const { return inner_; }

 private:
  MergedMatrixPtr inner_;
};

class StackedMatrix : public MergedMatrix {
 public:
  StackedMatrix(std::vector<MergedMatrixPtr> parts, std::int64_t rows)
      : MergedMatrix(rows, parts.front()->cols()), parts_(std::move(parts)) {}

  void read(std::int64_t first_row, std::int64_t first_col, MatrixView<double> out) const override {
    in_each(first_row, out.rows,
            [&](const MergedMatrix& part, std::int64_t from, std::int64_t done, std::int64_t rows) {
              part.read(from, first_col, out.row_block(done, rows));
            });
  }

  void add_reads(const MatrixBlock& block, ByteRanges& out) const override {
    in_each(block.first_row, block.rows,
            [&](const MergedMatrix& part, std::int64_t from, std::int64_t, std::int64_t rows) {
              part.add_reads({from, rows, block.first_col, block.cols}, out);
            });
  }

 private:
  /// Calls `use` for each part that contains some of the rows: the part, its first row, the number
  /// of rows before it, and the row count.
  template <class Use>
  void in_each(std::int64_t first_row, std::int64_t rows, const Use& use) const {
    std::int64_t start = 0, done = 0;
    for (const MergedMatrixPtr& part : parts_) {
      const std::int64_t from = std::max<std::int64_t>(first_row - start, 0);
      const std::int64_t count = std::min(part->rows() - from, rows - done);
      if (count > 0) {
        use(*part, from, done, count);
        done += count;
      }
      start += part->rows();
    }
  }

  std::vector<MergedMatrixPtr> parts_;
};

/// Counts columns and rows of a tensor as a ValueSource does: the last axis, and all others.
class MergedSource : public ValueSource {
 public:
  MergedSource(MergedMatrixPtr matrix, std::string parameters)
      : matrix_(std::move(matrix)), parameters_(std::move(parameters)) {}

  void decode(std::int64_t first_row, std::int64_t first_col,
              MatrixView<float> out) const override {
    constexpr std::int64_t kStrip = 64;  // rows of float64 in memory at a time
    Matrix<double> values(std::min(kStrip, out.rows), out.cols);
    for (std::int64_t row = 0; row < out.rows; row += kStrip) {
      const std::int64_t count = std::min(kStrip, out.rows - row);
      matrix_->read(first_row + row, first_col, values.view().row_block(0, count));
      for (std::int64_t at = 0; at < count; ++at) {
        for (std::int64_t col = 0; col < out.cols; ++col) {
          out(row + at, col) = static_cast<float>(values(at, col));
        }
      }
    }
  }

  void decode_float64(std::int64_t first_row, std::int64_t first_col,
                      MatrixView<double> out) const override {
    matrix_->read(first_row, first_col, out);
  }

  ByteRanges reads(std::int64_t first_row, std::int64_t rows, std::int64_t first_col,
                   std::int64_t cols) const override {
    ByteRanges out;
    matrix_->add_reads({first_row, rows, first_col, cols}, out);
    return out;
  }

  std::string parameters() const override { return parameters_; }

 private:
  MergedMatrixPtr matrix_;
  std::string parameters_;
};

}  // namespace

Matrix<double> read_all(const MergedMatrix& matrix) {
  Matrix<double> out(matrix.rows(), matrix.cols());
  matrix.read(0, 0, out.view());
  return out;
}

void add_all_reads(const MergedMatrix& matrix, ByteRanges& out) {
  matrix.add_reads({0, matrix.rows(), 0, matrix.cols()}, out);
}

MergedMatrixPtr stored_matrix(const TensorMatrix& matrix) {
  return std::make_shared<StoredMatrix>(matrix);
}

TensorMatrix as_column(const TensorView& vector) {
  const std::int64_t count = vector.element_count();
  std::int64_t stride = 1;
  for (std::size_t axis = 0; axis < vector.shape.size(); ++axis) {
    if (vector.shape[axis] != 1) stride = vector.stride(axis);
  }
  return {.tensor = vector,
          .rows = count,
          .cols = 1,
          .row_stride = stride,
          .block_rows = std::max<std::int64_t>(count, 1)};
}

MergedMatrixPtr transposed(MergedMatrixPtr matrix) {
  if (const auto* stored = dynamic_cast<const StoredMatrix*>(matrix.get())) {
    return stored->transpose();
  }
  if (const auto* turned = dynamic_cast<const TransposedMatrix*>(matrix.get())) {
    return turned->inner();
  }
  return std::make_shared<TransposedMatrix>(std::move(matrix));
}

MergedMatrixPtr stacked(std::vector<MergedMatrixPtr> parts) {
  std::int64_t rows = 0;
  for (const MergedMatrixPtr& part : parts) rows += part->rows();
  return std::make_shared<StackedMatrix>(std::move(parts), rows);
}

TensorView merged_tensor(MergedMatrixPtr matrix, const TensorView& base, Shape shape,
                         std::string parameters) {
  return {.dtype = base.dtype == DType::f64 ? DType::f64 : DType::f32,
          .shape = std::move(shape),
          .source = std::make_shared<MergedSource>(std::move(matrix), std::move(parameters)),
          .stored_as = std::string(base.storage_name()).append(kAdapted)};
}

}  // namespace attnscope
