#include "attnscope/adapters/rotation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <mutex>
#include <utility>

namespace attnscope {
namespace {

using Square = Matrix<double>;

/// One factor of a rotation: P D Pᵀ with block-diagonal D.
struct RotationFactor {
  std::vector<Square> blocks;       // one serves all
  std::vector<std::int64_t> order;  // (P v)_i = v_order(i); empty: P is the identity
};

Square product(const Square& a, const Square& b) {
  const std::int64_t size = a.rows();
  Square out(size, size);
  std::fill_n(out.data(), size * size, 0.0);
  for (std::int64_t row = 0; row < size; ++row) {
    for (std::int64_t at = 0; at < size; ++at) {
      for (std::int64_t col = 0; col < size; ++col) out(row, col) += a(row, at) * b(at, col);
    }
  }
  return out;
}

void add(Square& to, const Square& matrix, double scale) {
  for (std::int64_t at = 0; at < to.rows() * to.cols(); ++at) {
    to.data()[at] += scale * matrix.data()[at];
  }
}

Square identity(std::int64_t size) {
  Square out(size, size);
  std::fill_n(out.data(), size * size, 0.0);
  for (std::int64_t at = 0; at < size; ++at) out(at, at) = 1;
  return out;
}

/// (I − S)(I + S)⁻¹ of a skew-symmetric S: it equals (I + S)⁻¹(I − S), solved by Gaussian
/// elimination. I + S is never singular.
Square cayley(const Square& skew) {
  const std::int64_t size = skew.rows();
  Square left = identity(size), right = identity(size);
  add(left, skew, 1);
  add(right, skew, -1);
  for (std::int64_t step = 0; step < size; ++step) {
    std::int64_t pivot = step;
    for (std::int64_t row = step + 1; row < size; ++row) {
      if (std::abs(left(row, step)) > std::abs(left(pivot, step))) pivot = row;
    }
    if (pivot != step) {
      std::swap_ranges(&left(step, 0), &left(step, 0) + size, &left(pivot, 0));
      std::swap_ranges(&right(step, 0), &right(step, 0) + size, &right(pivot, 0));
    }
    for (std::int64_t row = 0; row < size; ++row) {
      if (row == step) continue;
      const double factor = left(row, step) / left(step, step);
      if (factor == 0) continue;
      for (std::int64_t col = step; col < size; ++col) left(row, col) -= factor * left(step, col);
      for (std::int64_t col = 0; col < size; ++col) right(row, col) -= factor * right(step, col);
    }
  }
  for (std::int64_t row = 0; row < size; ++row) {
    for (std::int64_t col = 0; col < size; ++col) right(row, col) /= left(row, row);
  }
  return right;
}

/// PEFT's truncated series I + 2S + 2S² + … of the Cayley transform. Its last term is not doubled.
Square neumann(const Square& skew, std::int64_t terms) {
  Square out = identity(skew.rows());
  if (terms < 2) return out;
  add(out, skew, 2);
  if (terms < 3) return out;
  Square power = product(skew, skew);
  add(out, power, 2);
  for (std::int64_t at = 3; at < terms - 1; ++at) {
    power = product(power, skew);
    add(out, power, 2);
  }
  add(out, product(power, skew), 1);
  return out;
}

Square skew_of(const double* upper, std::int64_t size) {
  Square out(size, size);
  for (std::int64_t row = 0; row < size; ++row) {
    out(row, row) = 0;
    for (std::int64_t col = row + 1; col < size; ++col, ++upper) {
      out(row, col) = *upper;
      out(col, row) = -*upper;
    }
  }
  return out;
}

void limit_norm(Square& block, double most) {
  double sum = 0;
  for (std::int64_t at = 0; at < block.rows() * block.cols(); ++at) {
    sum += block.data()[at] * block.data()[at];
  }
  const double norm = std::sqrt(sum);
  if (norm <= most) return;
  for (std::int64_t at = 0; at < block.rows() * block.cols(); ++at) block.data()[at] *= most / norm;
}

Square transpose_of(const Square& block) {
  Square out(block.cols(), block.rows());
  for (std::int64_t row = 0; row < out.rows(); ++row) {
    for (std::int64_t col = 0; col < out.cols(); ++col) out(row, col) = block(col, row);
  }
  return out;
}

/// Each row w of the base becomes F_n … F_1 w.
class RotatedMatrix : public MergedMatrix {
 public:
  using Make = std::function<std::vector<RotationFactor>()>;

  /// `span`: the elements of a row that one block rotates; all of them if there are permutations.
  RotatedMatrix(MergedMatrixPtr base, ByteRanges parameters, std::int64_t span, Make make)
      : MergedMatrix(base->rows(), base->cols()),
        base_(std::move(base)),
        parameters_(std::move(parameters)),
        span_(span),
        make_(std::move(make)) {}

  void read(std::int64_t first_row, std::int64_t first_col, MatrixView<double> out) const override {
    std::call_once(made_, [&] { factors_ = make_(); });
    const auto [begin, end] = columns(first_col, out.cols);
    Matrix<double> line(1, end - begin);
    for (std::int64_t row = 0; row < out.rows; ++row) {
      base_->read(first_row + row, begin, line.view());
      for (const RotationFactor& factor : factors_) line = rotated(factor, line, begin);
      std::copy_n(&line(0, first_col - begin), out.cols, &out(row, 0));
    }
  }

  void add_reads(const MatrixBlock& block, ByteRanges& out) const override {
    const auto [begin, end] = columns(block.first_col, block.cols);
    base_->add_reads({block.first_row, block.rows, begin, end - begin}, out);
    out.insert(out.end(), parameters_.begin(), parameters_.end());
  }

 private:
  /// The whole blocks around these columns.
  std::pair<std::int64_t, std::int64_t> columns(std::int64_t first, std::int64_t count) const {
    return {first / span_ * span_, (first + count + span_ - 1) / span_ * span_};
  }

  static Matrix<double> rotated(const RotationFactor& factor, const Matrix<double>& line,
                                std::int64_t begin) {
    const std::int64_t count = line.cols(), size = factor.blocks.front().rows();
    const auto place = [&](std::int64_t at) {
      return factor.order.empty() ? at : factor.order[static_cast<std::size_t>(at)];
    };
    Matrix<double> in(1, count), turned(1, count);
    for (std::int64_t at = 0; at < count; ++at) in(0, place(at)) = line(0, at);
    for (std::int64_t at = 0; at < count; ++at) {
      const std::int64_t start = at / size * size;
      const auto number = factor.blocks.size() == 1 ? 0 : (begin + at) / size;
      const Square& block = factor.blocks[static_cast<std::size_t>(number)];
      double sum = 0;
      for (std::int64_t other = 0; other < size; ++other) {
        sum += block(at - start, other) * in(0, start + other);
      }
      turned(0, at) = sum;
    }
    if (factor.order.empty()) return turned;
    Matrix<double> out(1, count);
    for (std::int64_t at = 0; at < count; ++at) out(0, at) = turned(0, place(at));
    return out;
  }

  MergedMatrixPtr base_;
  ByteRanges parameters_;
  std::int64_t span_;
  Make make_;
  mutable std::once_flag made_;
  mutable std::vector<RotationFactor> factors_;
};

/// PEFT's permutation of factor `level` of a butterfly: inside groups of `group` elements, runs of
/// `run` elements with even numbers come before those with odd numbers.
std::vector<std::int64_t> butterfly_order(std::int64_t count, std::int64_t group,
                                          std::int64_t run) {
  std::vector<std::int64_t> order;
  for (std::int64_t start = 0; start < count; start += group) {
    for (std::int64_t odd = 0; odd < 2; ++odd) {
      for (std::int64_t at = odd; at < group / run; at += 2) {
        for (std::int64_t in = 0; in < run; ++in) order.push_back(start + at * run + in);
      }
    }
  }
  return order;
}

std::vector<RotationFactor> boft_factors(const TensorView& tensor) {
  const std::int64_t levels = tensor.shape[0], count = tensor.shape[1], size = tensor.shape[2];
  std::vector<RotationFactor> factors(static_cast<std::size_t>(levels));
  for (std::int64_t level = 0; level < levels; ++level) {
    RotationFactor& factor = factors[static_cast<std::size_t>(level)];
    for (std::int64_t number = 0; number < count; ++number) {
      const Matrix<double> block =
          decode<double>(TensorMatrix{.tensor = tensor,
                                      .rows = size,
                                      .cols = size,
                                      .first = level * tensor.stride(0) + number * tensor.stride(1),
                                      .row_stride = tensor.stride(2),
                                      .col_stride = tensor.stride(3),
                                      .block_rows = size});
      Square skew = transpose_of(block);
      for (std::int64_t at = 0; at < size * size; ++at) {
        skew.data()[at] = (block.data()[at] - skew.data()[at]) / 2;
      }
      factor.blocks.push_back(cayley(skew));
    }
    if (levels > 1) {
      factor.order = butterfly_order(count * size, (size << level), size / 2);
    }
  }
  return factors;
}

}  // namespace

MergedMatrixPtr with_oft(MergedMatrixPtr base, TensorMatrix upper, std::int64_t block_size,
                         const OftRotation& options, bool transposes) {
  const auto make = [upper, block_size, options, transposes] {
    RotationFactor factor;
    const Matrix<double> values = decode<double>(upper);
    for (std::int64_t number = 0; number < values.rows(); ++number) {
      Square skew = skew_of(values.data() + number * values.cols(), block_size);
      if (options.most > 0) {
        limit_norm(skew, options.most / std::sqrt(static_cast<double>(upper.rows)));
      }
      Square block = options.neumann_terms ? neumann(skew, *options.neumann_terms) : cayley(skew);
      factor.blocks.push_back(transposes ? transpose_of(block) : std::move(block));
    }
    std::vector<RotationFactor> factors;
    factors.push_back(std::move(factor));
    return factors;
  };
  return std::make_shared<RotatedMatrix>(std::move(base), byte_ranges(upper), block_size, make);
}

MergedMatrixPtr with_boft(MergedMatrixPtr base, TensorView blocks) {
  const std::int64_t cols = base->cols();
  const std::int64_t span = blocks.shape[0] == 1 ? blocks.shape[2] : cols;
  return std::make_shared<RotatedMatrix>(std::move(base), all_bytes(blocks), span,
                                         [blocks] { return boft_factors(blocks); });
}

}  // namespace attnscope
