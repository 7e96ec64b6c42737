// The changes of LoRA, AdaLoRA, VeRA, LoHa, LoKr, IA3 and DoRA. Source: huggingface/peft,
// tuners/{lora,adalora,vera,loha,lokr,ia3}/layer.py, tuners/lora/{dora,variants}.py.
#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <utility>

#include "attnscope/adapters/merged_matrix.h"

namespace attnscope {
namespace {

void add_ranges(const TensorMatrix& matrix, ByteRanges& out) {
  const ByteRanges own = byte_ranges(matrix);
  out.insert(out.end(), own.begin(), own.end());
}

void add_ranges(const LowRankProduct& product, ByteRanges& out) {
  add_ranges(product.b, out);
  add_ranges(product.a, out);
  if (product.middle) add_ranges(*product.middle, out);
  if (product.outputs) add_ranges(*product.outputs, out);
}

Matrix<double> block_of(const TensorMatrix& matrix, const MatrixBlock& block) {
  Matrix<double> out(block.rows, block.cols);
  decode_block(matrix, block.first_row, block.first_col, out.view());
  return out;
}

/// A block of the product. The factors are decoded for each block: together, those of all layers
/// can be large.
Matrix<double> block_of(const LowRankProduct& product, const MatrixBlock& block) {
  const std::int64_t rank = product.a.rows;
  Matrix<double> b = block_of(product.b, {block.first_row, block.rows, 0, rank});
  const Matrix<double> a = block_of(product.a, {0, rank, block.first_col, block.cols});
  if (product.middle) {
    const Matrix<double> middle = block_of(*product.middle, {0, rank, 0, 1});
    for (std::int64_t row = 0; row < block.rows; ++row) {
      for (std::int64_t at = 0; at < rank; ++at) b(row, at) *= middle(at, 0);
    }
  }
  if (product.outputs) {
    const Matrix<double> outputs = block_of(*product.outputs, {block.first_row, block.rows, 0, 1});
    for (std::int64_t row = 0; row < block.rows; ++row) {
      for (std::int64_t at = 0; at < rank; ++at) b(row, at) *= outputs(row, 0);
    }
  }
  Matrix<double> out(block.rows, block.cols);
  for (std::int64_t row = 0; row < block.rows; ++row) {
    double* line = &out(row, 0);
    std::fill_n(line, block.cols, 0.0);
    for (std::int64_t at = 0; at < rank; ++at) {
      const double factor = product.scale * b(row, at);
      const double* other = &a(at, 0);
      for (std::int64_t col = 0; col < block.cols; ++col) line[col] += factor * other[col];
    }
  }
  return out;
}

/// A matrix of the same shape as its base.
class ChangedMatrix : public MergedMatrix {
 protected:
  explicit ChangedMatrix(MergedMatrixPtr base)
      : MergedMatrix(base->rows(), base->cols()), base_(std::move(base)) {}
  const MergedMatrix& base() const { return *base_; }

 private:
  MergedMatrixPtr base_;
};

class LowRankSum : public ChangedMatrix {
 public:
  LowRankSum(MergedMatrixPtr base, std::vector<LowRankProduct> factors)
      : ChangedMatrix(std::move(base)), factors_(std::move(factors)) {}

  void read(std::int64_t first_row, std::int64_t first_col, MatrixView<double> out) const override {
    base().read(first_row, first_col, out);
    const MatrixBlock block{first_row, out.rows, first_col, out.cols};
    Matrix<double> change = block_of(factors_.front(), block);
    for (std::size_t index = 1; index < factors_.size(); ++index) {
      const Matrix<double> other = block_of(factors_[index], block);
      for (std::int64_t at = 0; at < out.rows * out.cols; ++at) {
        change.data()[at] *= other.data()[at];
      }
    }
    for (std::int64_t row = 0; row < out.rows; ++row) {
      for (std::int64_t col = 0; col < out.cols; ++col) out(row, col) += change(row, col);
    }
  }

  void add_reads(const MatrixBlock& block, ByteRanges& out) const override {
    base().add_reads(block, out);
    for (const LowRankProduct& factor : factors_) add_ranges(factor, out);
  }

 private:
  std::vector<LowRankProduct> factors_;  // multiplied elementwise
};

class KroneckerSum : public ChangedMatrix {
 public:
  KroneckerSum(MergedMatrixPtr base, KroneckerFactor outer, KroneckerFactor inner, double scale)
      : ChangedMatrix(std::move(base)),
        outer_(std::move(outer)),
        inner_(std::move(inner)),
        scale_(scale) {}

  void read(std::int64_t first_row, std::int64_t first_col, MatrixView<double> out) const override {
    // Blocks of any shape touch most of both factors, which are much smaller than the matrix.
    std::call_once(decoded_, [&] {
      outer_values_ = values_of(outer_);
      inner_values_ = values_of(inner_);
    });
    base().read(first_row, first_col, out);
    const std::int64_t rows = inner_values_.rows(), cols = inner_values_.cols();
    for (std::int64_t row = 0; row < out.rows; ++row) {
      const std::int64_t at = first_row + row;
      for (std::int64_t col = 0; col < out.cols; ++col) {
        const std::int64_t to = first_col + col;
        out(row, col) +=
            scale_ * outer_values_(at / rows, to / cols) * inner_values_(at % rows, to % cols);
      }
    }
  }

  void add_reads(const MatrixBlock& block, ByteRanges& out) const override {
    base().add_reads(block, out);
    for (const KroneckerFactor* factor : {&outer_, &inner_}) {
      add_ranges(factor->left, out);
      if (factor->right) add_ranges(*factor->right, out);
    }
  }

 private:
  static Matrix<double> values_of(const KroneckerFactor& factor) {
    if (!factor.right) return decode<double>(factor.left);
    return block_of(LowRankProduct{.b = factor.left, .a = *factor.right},
                    {0, factor.rows(), 0, factor.cols()});
  }

  KroneckerFactor outer_, inner_;
  double scale_;
  mutable std::once_flag decoded_;
  mutable Matrix<double> outer_values_, inner_values_;
};

class ScaledSum : public ChangedMatrix {
 public:
  ScaledSum(MergedMatrixPtr base, TensorMatrix other, double scale)
      : ChangedMatrix(std::move(base)), other_(std::move(other)), scale_(scale) {}

  void read(std::int64_t first_row, std::int64_t first_col, MatrixView<double> out) const override {
    base().read(first_row, first_col, out);
    const Matrix<double> other = block_of(other_, {first_row, out.rows, first_col, out.cols});
    for (std::int64_t row = 0; row < out.rows; ++row) {
      for (std::int64_t col = 0; col < out.cols; ++col) out(row, col) += scale_ * other(row, col);
    }
  }

  void add_reads(const MatrixBlock& block, ByteRanges& out) const override {
    base().add_reads(block, out);
    add_ranges(other_, out);
  }

 private:
  TensorMatrix other_;
  double scale_;
};

class ScaledRows : public ChangedMatrix {
 public:
  ScaledRows(MergedMatrixPtr base, TensorMatrix factors)
      : ChangedMatrix(std::move(base)), factors_(std::move(factors)) {}

  void read(std::int64_t first_row, std::int64_t first_col, MatrixView<double> out) const override {
    base().read(first_row, first_col, out);
    const Matrix<double> factors = block_of(factors_, {first_row, out.rows, 0, 1});
    for (std::int64_t row = 0; row < out.rows; ++row) {
      for (std::int64_t col = 0; col < out.cols; ++col) out(row, col) *= factors(row, 0);
    }
  }

  void add_reads(const MatrixBlock& block, ByteRanges& out) const override {
    base().add_reads(block, out);
    add_ranges(factors_, out);
  }

 private:
  TensorMatrix factors_;
};

class NormedRows : public ChangedMatrix {
 public:
  NormedRows(MergedMatrixPtr base, TensorMatrix norms)
      : ChangedMatrix(std::move(base)), norms_(std::move(norms)) {}

  void read(std::int64_t first_row, std::int64_t first_col, MatrixView<double> out) const override {
    std::call_once(computed_, [&] { factors_ = factors(); });
    base().read(first_row, first_col, out);
    for (std::int64_t row = 0; row < out.rows; ++row) {
      const double factor = factors_[static_cast<std::size_t>(first_row + row)];
      for (std::int64_t col = 0; col < out.cols; ++col) out(row, col) *= factor;
    }
  }

  void add_reads(const MatrixBlock&, ByteRanges& out) const override {
    add_all_reads(base(), out);
    add_ranges(norms_, out);
  }

 private:
  /// The wanted norm of each row divided by its norm.
  std::vector<double> factors() const {
    constexpr std::int64_t kStrip = 64;
    const Matrix<double> wanted = decode<double>(norms_);
    std::vector<double> out(static_cast<std::size_t>(rows()));
    Matrix<double> strip(std::min(kStrip, rows()), cols());
    for (std::int64_t row = 0; row < rows(); row += kStrip) {
      const std::int64_t count = std::min(kStrip, rows() - row);
      base().read(row, 0, strip.view().row_block(0, count));
      for (std::int64_t at = 0; at < count; ++at) {
        double sum = 0;
        for (std::int64_t col = 0; col < cols(); ++col) sum += strip(at, col) * strip(at, col);
        out[static_cast<std::size_t>(row + at)] = wanted(row + at, 0) / std::sqrt(sum);
      }
    }
    return out;
  }

  TensorMatrix norms_;
  mutable std::once_flag computed_;
  mutable std::vector<double> factors_;
};

class ReplacedRows : public ChangedMatrix {
 public:
  ReplacedRows(MergedMatrixPtr base, const std::vector<std::int64_t>& indices, TensorMatrix values)
      : ChangedMatrix(std::move(base)), values_(std::move(values)) {
    for (std::size_t at = 0; at < indices.size(); ++at) {
      places_[indices[at]] = static_cast<std::int64_t>(at);
    }
  }

  void read(std::int64_t first_row, std::int64_t first_col, MatrixView<double> out) const override {
    base().read(first_row, first_col, out);
    for (auto at = places_.lower_bound(first_row);
         at != places_.end() && at->first < first_row + out.rows; ++at) {
      decode_block(values_, at->second, first_col, out.row_block(at->first - first_row, 1));
    }
  }

  void add_reads(const MatrixBlock& block, ByteRanges& out) const override {
    base().add_reads(block, out);
    add_ranges(values_, out);
  }

 private:
  TensorMatrix values_;
  std::map<std::int64_t, std::int64_t> places_;  // row of the matrix → row of the values
};

}  // namespace

MergedMatrixPtr with_low_rank(MergedMatrixPtr base, LowRankProduct product) {
  return std::make_shared<LowRankSum>(std::move(base), std::vector{std::move(product)});
}

MergedMatrixPtr with_hadamard(MergedMatrixPtr base, LowRankProduct one, LowRankProduct other) {
  return std::make_shared<LowRankSum>(std::move(base),
                                      std::vector{std::move(one), std::move(other)});
}

MergedMatrixPtr with_kronecker(MergedMatrixPtr base, KroneckerFactor outer, KroneckerFactor inner,
                               double scale) {
  return std::make_shared<KroneckerSum>(std::move(base), std::move(outer), std::move(inner), scale);
}

MergedMatrixPtr with_sum(MergedMatrixPtr base, TensorMatrix other, double scale) {
  return std::make_shared<ScaledSum>(std::move(base), std::move(other), scale);
}

MergedMatrixPtr with_scaled_rows(MergedMatrixPtr base, TensorMatrix factors) {
  return std::make_shared<ScaledRows>(std::move(base), std::move(factors));
}

MergedMatrixPtr with_row_norms(MergedMatrixPtr base, TensorMatrix norms) {
  return std::make_shared<NormedRows>(std::move(base), std::move(norms));
}

MergedMatrixPtr with_rows(MergedMatrixPtr base, const std::vector<std::int64_t>& indices,
                          TensorMatrix values) {
  return std::make_shared<ReplacedRows>(std::move(base), indices, std::move(values));
}

}  // namespace attnscope
