#include "attnscope/analysis/composition.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attnscope/numerics/products.h"

namespace attnscope {
namespace {

/// Four sums that the compiler turns into a vector.
double sum_of_squares(const double* values, std::int64_t count) {
  std::array<double, 8> sums{};
  std::int64_t at = 0;
  for (; at + 8 <= count; at += 8) {
    for (std::size_t lane = 0; lane < 8; ++lane) {
      const double value = values[at + static_cast<std::int64_t>(lane)];
      sums[lane] += value * value;
    }
  }
  for (; at < count; ++at) sums[0] += values[at] * values[at];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

double frobenius_norm(const Matrix<double>& matrix) {
  return std::sqrt(sum_of_squares(matrix.data(), matrix.rows() * matrix.cols()));
}

bool all_finite(MatrixView<const double> matrix) {
  if (matrix.row_stride == 1) matrix = matrix.transposed();
  double unfit = 0;  // NaN once a value is NaN or Inf
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t col = 0; col < matrix.cols; ++col) {
      unfit += matrix(row, col) - matrix(row, col);
    }
  }
  return unfit == 0;
}

/// Row by row; a transposed view is read along the lines that lie together.
Matrix<double> row_major(MatrixView<const double> matrix) {
  constexpr std::int64_t kBlock = 32;
  Matrix<double> out(matrix.rows, matrix.cols);
  for (std::int64_t first = 0; first < matrix.cols; first += kBlock) {
    const std::int64_t end = std::min(first + kBlock, matrix.cols);
    for (std::int64_t row = 0; row < matrix.rows; ++row) {
      for (std::int64_t col = first; col < end; ++col) out(row, col) = matrix(row, col);
    }
  }
  return out;
}

/// R of factorᵀ = Q R.
Matrix<double> triangle_of(MatrixView<const double> factor, const Compute& compute) {
  return qr_r_factor(row_major(factor).view().transposed(), compute);
}

void copy_rows(MatrixView<const double> from, Matrix<double>& to, std::int64_t first_row) {
  for (std::int64_t row = 0; row < from.rows; ++row) {
    for (std::int64_t col = 0; col < from.cols; ++col) to(first_row + row, col) = from(row, col);
  }
}

Matrix<double> zeros(std::int64_t rows, std::int64_t cols) {
  Matrix<double> out(rows, cols);
  std::fill_n(out.data(), rows * cols, 0.0);
  return out;
}

std::vector<std::optional<double>> norms_of(const CircuitTriangles& triangles, HeadRange heads) {
  const auto first = triangles.norms.begin() + heads.first;
  return {first, first + heads.count};
}

bool finite(const CircuitTriangles& triangles, std::int64_t head) {
  return triangles.norms[static_cast<std::size_t>(head)].has_value();
}

/// `triangle` times a factor (d, D) of every head of the range, above each other; zeros for a head
/// that is not finite. reduced(head, factors) gives a head's (rank, D).
template <class Reduced>
Matrix<double> reduced_heads(const CircuitWeights& weights, const CircuitTriangles& triangles,
                             HeadRange heads, std::int64_t rank, std::int64_t width,
                             Reduced reduced) {
  Matrix<double> out = zeros(heads.count * rank, width);
  for (std::int64_t at = 0; at < heads.count; ++at) {
    const std::int64_t head = heads.first + at;
    if (!finite(triangles, head)) continue;
    const Matrix<double> own = reduced(head, head_factors(weights, head));
    copy_rows(own.view(), out, at * rank);
  }
  return out;
}

/// Norms of the blocks (rank, rank of writers) of `met`, whose rows belong to one reader after the
/// other from `first_reader`, into scores.
void add_scores(const Matrix<double>& met, std::int64_t rank, const ReadingHeads& readers,
                std::int64_t first_reader, const WritingHeads& writers, Matrix<double>& scores) {
  for (std::int64_t reader = 0; reader < met.rows() / rank; ++reader) {
    const std::int64_t row = first_reader + reader;
    const std::optional<double>& reading = readers.norms[static_cast<std::size_t>(row)];
    for (std::int64_t writer = 0; writer < writers.heads.count; ++writer) {
      const std::optional<double>& writing = writers.norms[static_cast<std::size_t>(writer)];
      const double norms = reading.value_or(0) * writing.value_or(0);
      if (!(norms > 0)) continue;
      double sum = 0;
      for (std::int64_t line = 0; line < rank; ++line) {
        sum += sum_of_squares(&met(reader * rank + line, writer * writers.rank), writers.rank);
      }
      scores(row, writer) = std::sqrt(sum) / norms;
    }
  }
}

}  // namespace

std::string_view reading_kind_name(ReadingKind kind) {
  switch (kind) {
    case ReadingKind::query: return "q";
    case ReadingKind::key: return "k";
    case ReadingKind::value: return "v";
  }
  return "";
}

CircuitTriangles circuit_triangles(const CircuitWeights& weights, const Compute& compute) {
  CircuitTriangles out;
  const HeadShape& shape = weights.heads;
  bool right_finite = true;
  for (std::int64_t head = 0; head < shape.heads; ++head) {
    const CircuitFactors factors = head_factors(weights, head);
    if (head % shape.group_size() == 0) {
      right_finite = all_finite(factors.right);
      out.right.push_back(right_finite ? triangle_of(factors.right, compute) : Matrix<double>());
    }
    const bool both_finite = right_finite && all_finite(factors.left);
    out.left.push_back(both_finite ? triangle_of(factors.left, compute) : Matrix<double>());
    out.norms.emplace_back();
    if (!both_finite) continue;
    out.norms.back() = frobenius_norm(
        multiply_transposed(out.left.back().view(), out.right.back().view(), compute));
  }
  return out;
}

ReadingHeads prepare_readers(const CircuitWeights& weights, const CircuitTriangles& triangles,
                             ReadingKind kind, HeadRange heads, const Compute& compute) {
  const HeadShape& shape = weights.heads;
  const CircuitFactors any = head_factors(weights, heads.first);
  const std::int64_t inner = any.left.rows;
  ReadingHeads out{.kind = kind, .heads = heads, .norms = norms_of(triangles, heads)};
  if (kind == ReadingKind::query) {
    // ‖W_Kᵀ W_Q X‖ = ‖R_K W_Q X‖.
    const std::int64_t width = any.left.cols, rank = std::min(inner, any.right.cols);
    const auto reduced = [&](std::int64_t head, const CircuitFactors& factors) {
      const auto kv_head = static_cast<std::size_t>(shape.kv_head(head));
      return multiply_transposed(triangles.right[kv_head].view(), factors.left.transposed(),
                                 compute);
    };
    out.readers = PackedMatrix(
        reduced_heads(weights, triangles, heads, rank, width, reduced).view(), compute);
    return out;
  }
  // ‖W_Qᵀ W_K X‖ = ‖R_Q (W_K X)‖: query heads of a group share W_K X.
  const std::int64_t rank = std::min(inner, any.left.cols), group = shape.group_size();
  Matrix<double> shared = zeros(heads.count / group * inner, any.right.cols);
  for (std::int64_t first = 0; first < heads.count; first += group) {
    Matrix<double> stacked = zeros(group * rank, inner);
    bool any_finite = false;
    for (std::int64_t at = 0; at < group; ++at) {
      const std::int64_t head = heads.first + first + at;
      if (!finite(triangles, head)) continue;
      any_finite = true;
      copy_rows(triangles.left[static_cast<std::size_t>(head)].view(), stacked, at * rank);
    }
    out.triangles.emplace_back(stacked.view(), compute);
    if (any_finite) {
      copy_rows(head_factors(weights, heads.first + first).right, shared, first / group * inner);
    }
  }
  out.readers = PackedMatrix(shared.view(), compute);
  return out;
}

WritingHeads prepare_writers(const CircuitWeights& weights, const CircuitTriangles& triangles,
                             HeadRange heads, const Compute& compute) {
  const CircuitFactors any = head_factors(weights, heads.first);
  const std::int64_t rank = std::min(any.right.rows, any.right.cols);
  // ‖X W_O W_V‖ = ‖X W_O Rᵀ‖ with W_Vᵀ = Q R.
  const auto reduced = [&](std::int64_t head, const CircuitFactors& factors) {
    const auto kv_head = static_cast<std::size_t>(weights.heads.kv_head(head));
    return multiply_transposed(triangles.right[kv_head].view(), factors.left.transposed(), compute);
  };
  return {
      .heads = heads,
      .norms = norms_of(triangles, heads),
      .rank = rank,
      .written = PackedMatrix(
          reduced_heads(weights, triangles, heads, rank, any.left.cols, reduced).view(), compute)};
}

Matrix<double> composition_scores(const ReadingHeads& readers, const WritingHeads& writers,
                                  const Compute& compute) {
  Matrix<double> scores(readers.heads.count, writers.heads.count);
  std::fill_n(scores.data(), scores.rows() * scores.cols(),
              std::numeric_limits<double>::quiet_NaN());
  if (scores.rows() == 0 || scores.cols() == 0) return scores;
  const Matrix<double> met = multiply_transposed(readers.readers, writers.written, compute);
  if (readers.triangles.empty()) {
    add_scores(met, met.rows() / readers.heads.count, readers, 0, writers, scores);
    return scores;
  }
  const std::int64_t inner = met.rows() / std::ssize(readers.triangles);
  const std::int64_t group = readers.heads.count / std::ssize(readers.triangles);
  for (std::int64_t kv_head = 0; kv_head < std::ssize(readers.triangles); ++kv_head) {
    const PackedMatrix& triangles = readers.triangles[static_cast<std::size_t>(kv_head)];
    const PackedMatrix shared(met.view().row_block(kv_head * inner, inner).transposed(), compute);
    add_scores(multiply_transposed(triangles, shared, compute), triangles.rows() / group, readers,
               kv_head * group, writers, scores);
  }
  return scores;
}

double composition_baseline(std::int64_t width) {
  return 1 / std::sqrt(static_cast<double>(width));
}

}  // namespace attnscope
