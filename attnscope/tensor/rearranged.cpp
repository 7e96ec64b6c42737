#include "attnscope/tensor/rearranged.h"

#include <algorithm>
#include <utility>

#include "attnscope/tensor/decode.h"

namespace attnscope {
namespace {

using Bytes = std::vector<std::span<const std::byte>>;

/// Decodes a block of a tensor, stored plainly or behind a source.
void decode_part(const TensorView& tensor, std::int64_t first_row, std::int64_t first_col,
                 MatrixView<float> out) {
  if (tensor.source != nullptr) return tensor.source->decode(first_row, first_col, out);
  for (std::int64_t row = 0; row < out.rows; ++row) {
    decode_elements(tensor, (first_row + row) * tensor.cols() + first_col, 1, out.cols,
                    &out(row, 0));
  }
}

/// Returns the byte ranges of those rows.
Bytes bytes_of_rows(const TensorView& tensor, std::int64_t first, std::int64_t rows) {
  if (tensor.source != nullptr) return tensor.source->reads(first, rows, 0, tensor.cols());
  const std::int64_t row_bytes = tensor.cols() * dtype_info(tensor.dtype).bits / 8;
  return {tensor.bytes.subspan(static_cast<std::size_t>(first * row_bytes),
                               static_cast<std::size_t>(rows * row_bytes))};
}

/// Returns a view of a source that presents a tensor in another order or shape.
TensorView view_of(const TensorView& stored, Shape shape, std::shared_ptr<const ValueSource> by) {
  return {.dtype = stored.dtype,
          .shape = std::move(shape),
          .source = std::move(by),
          .stored_as = std::string(stored.storage_name())};
}

class RowsInOrder : public ValueSource {
 public:
  RowsInOrder(TensorView stored, RowOrder order) : stored_(std::move(stored)), order_(order) {}

  void decode(std::int64_t first_row, std::int64_t first_col,
              MatrixView<float> out) const override {
    for (std::int64_t row = 0; row < out.rows; ++row) {
      decode_part(stored_, order_.stored_row(first_row + row), first_col, out.row_block(row, 1));
    }
  }

  Bytes reads(std::int64_t first_row, std::int64_t rows, std::int64_t,
              std::int64_t) const override {
    std::vector<std::int64_t> stored;
    for (std::int64_t row = 0; row < rows; ++row) {
      stored.push_back(order_.stored_row(first_row + row));
    }
    std::sort(stored.begin(), stored.end());
    Bytes out;
    for (std::size_t begin = 0, end = 0; begin < stored.size(); begin = end) {
      // The rows of one half of a head are two rows apart. Reading the rows in between costs less
      // than many small reads.
      for (end = begin + 1; end < stored.size() && stored[end] - stored[end - 1] <= 2; ++end) {
      }
      const std::int64_t count = stored[end - 1] + 1 - stored[begin];
      for (const auto part : bytes_of_rows(stored_, stored[begin], count)) out.push_back(part);
    }
    return out;
  }

 private:
  TensorView stored_;
  RowOrder order_;
};

/// A tensor with one axis: its elements take the role of rows.
class ElementsInOrder : public ValueSource {
 public:
  ElementsInOrder(TensorView stored, RowOrder order) : stored_(std::move(stored)), order_(order) {}

  void decode(std::int64_t, std::int64_t first_col, MatrixView<float> out) const override {
    for (std::int64_t col = 0; col < out.cols; ++col) {
      decode_part(stored_, 0, order_.stored_row(first_col + col), out.block(0, 1, col, 1));
    }
  }

  Bytes reads(std::int64_t, std::int64_t, std::int64_t, std::int64_t) const override {
    return bytes_of_rows(stored_, 0, 1);
  }

 private:
  TensorView stored_;
  RowOrder order_;
};

class ColumnsInOrder : public ValueSource {
 public:
  ColumnsInOrder(TensorView stored, RowOrder order) : stored_(std::move(stored)), order_(order) {}

  void decode(std::int64_t first_row, std::int64_t first_col,
              MatrixView<float> out) const override {
    Matrix<float> whole(out.rows, stored_.cols());
    decode_part(stored_, first_row, 0, whole.view());
    for (std::int64_t col = 0; col < out.cols; ++col) {
      const std::int64_t from = order_.stored_row(first_col + col);
      for (std::int64_t row = 0; row < out.rows; ++row) out(row, col) = whole(row, from);
    }
  }

  Bytes reads(std::int64_t first_row, std::int64_t rows, std::int64_t,
              std::int64_t) const override {
    return bytes_of_rows(stored_, first_row, rows);
  }

 private:
  TensorView stored_;
  RowOrder order_;
};

/// Decodes a block of the transpose.
void decode_columns(const TensorView& stored, std::int64_t first_row, std::int64_t first_col,
                    MatrixView<float> out) {
  Matrix<float> block(out.cols, out.rows);
  decode_part(stored, first_col, first_row, block.view());
  for (std::int64_t row = 0; row < out.rows; ++row) {
    for (std::int64_t col = 0; col < out.cols; ++col) out(row, col) = block(col, row);
  }
}

class Turned : public ValueSource {
 public:
  explicit Turned(TensorView stored) : stored_(std::move(stored)) {}

  void decode(std::int64_t first_row, std::int64_t first_col,
              MatrixView<float> out) const override {
    decode_columns(stored_, first_row, first_col, out);
  }

  Bytes reads(std::int64_t first_row, std::int64_t rows, std::int64_t first_col,
              std::int64_t cols) const override {
    return stored_.source->reads(first_col, cols, first_row, rows);
  }

 private:
  TensorView stored_;  // for a source
};

class RowsOfParts : public ValueSource {
 public:
  explicit RowsOfParts(std::vector<RowPart> parts) : parts_(std::move(parts)) {
    for (const RowPart& part : parts_) ends_.push_back(rows() + part.rows());
  }

  std::int64_t rows() const { return ends_.empty() ? 0 : ends_.back(); }

  void decode(std::int64_t first_row, std::int64_t first_col,
              MatrixView<float> out) const override {
    in_each(first_row, out.rows,
            [&](const RowPart& part, std::int64_t first, std::int64_t done, std::int64_t count) {
              const MatrixView<float> own = out.row_block(done, count);
              if (part.transposed) return decode_columns(part.stored, first, first_col, own);
              decode_part(part.stored, first, first_col, own);
            });
  }

  Bytes reads(std::int64_t first_row, std::int64_t rows, std::int64_t,
              std::int64_t) const override {
    Bytes out;
    in_each(first_row, rows,
            [&](const RowPart& part, std::int64_t first, std::int64_t, std::int64_t count) {
              // A column touches every row.
              const bool all = part.transposed;
              const auto own =
                  bytes_of_rows(part.stored, all ? 0 : first, all ? part.stored.shape[0] : count);
              out.insert(out.end(), own.begin(), own.end());
            });
    return out;
  }

 private:
  /// Calls `use` for each part that contains some of the rows, with three values: the first row
  /// within the part, the number of rows before it, and the row count.
  template <class Use>
  void in_each(std::int64_t first_row, std::int64_t rows, const Use& use) const {
    auto at = std::upper_bound(ends_.begin(), ends_.end(), first_row);
    for (std::int64_t done = 0; done < rows; ++at) {
      const RowPart& part = parts_[static_cast<std::size_t>(at - ends_.begin())];
      const std::int64_t count = std::min(rows - done, *at - first_row - done);
      use(part, first_row + done - (*at - part.rows()), done, count);
      done += count;
    }
  }

  std::vector<RowPart> parts_;
  std::vector<std::int64_t> ends_;  // for each part, the row after its last one
};

class Zeros : public ValueSource {
 public:
  void decode(std::int64_t, std::int64_t, MatrixView<float> out) const override {
    for (std::int64_t row = 0; row < out.rows; ++row) std::fill_n(&out(row, 0), out.cols, 0.0F);
  }

  Bytes reads(std::int64_t, std::int64_t, std::int64_t, std::int64_t) const override { return {}; }
};

}  // namespace

std::int64_t RowOrder::stored_row(std::int64_t row) const {
  const std::int64_t at = row % run, b = row / run % inner, a = row / run / inner % outer;
  const std::int64_t group = row / (run * inner * outer);
  return ((group * inner + b) * outer + a) * run + at;
}

TensorView with_rows_in_order(const TensorView& stored, const RowOrder& order) {
  if (stored.shape.size() == 1) {
    return view_of(stored, stored.shape, std::make_shared<ElementsInOrder>(stored, order));
  }
  return view_of(stored, stored.shape, std::make_shared<RowsInOrder>(stored, order));
}

TensorView with_columns_in_order(const TensorView& stored, const RowOrder& order) {
  return view_of(stored, stored.shape, std::make_shared<ColumnsInOrder>(stored, order));
}

TensorView transposed(const TensorView& stored) {
  const Shape shape = {stored.shape[1], stored.shape[0]};
  if (stored.source != nullptr) return view_of(stored, shape, std::make_shared<Turned>(stored));
  TensorView out = stored;
  out.shape = shape;
  out.strides = {stored.stride(1), stored.stride(0)};
  return out;
}

TensorView one_after_another(std::vector<RowPart> parts) {
  TensorView out{.dtype = parts.front().stored.dtype};
  std::vector<std::string> storages;
  for (const RowPart& part : parts) {
    if (part.stored.dtype != out.dtype) out.dtype = DType::f32;
    const std::string name(part.stored.storage_name());
    if (std::find(storages.begin(), storages.end(), name) != storages.end()) continue;
    out.stored_as += (storages.empty() ? "" : "+") + name;
    storages.push_back(name);
  }
  const std::int64_t cols = parts.front().cols();
  const auto source = std::make_shared<RowsOfParts>(std::move(parts));
  out.shape = {source->rows(), cols};
  out.source = source;
  return out;
}

TensorView rows_of_zeros(const TensorView& like, std::int64_t rows) {
  return view_of(like, {rows, like.shape[1]}, std::make_shared<Zeros>());
}

}  // namespace attnscope
