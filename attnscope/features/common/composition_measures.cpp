#include "attnscope/features/common/composition_measures.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "attnscope/numerics/products/dense_products.h"
#include "attnscope/numerics/vector_loops.h"

namespace attnscope {
namespace {

/// Sum of squares in four partial sums, which the compiler vectorizes.
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

void copy_rows(MatrixView<const double> from, MatrixView<double> to, std::int64_t first_row) {
  for (std::int64_t row = 0; row < from.rows; ++row) {
    for (std::int64_t col = 0; col < from.cols; ++col) to(first_row + row, col) = from(row, col);
  }
}

/// A matrix in memory that its owner keeps. With malloc, temporary matrices of this size would
/// fragment the heap between small long-lived allocations.
MatrixView<double> reserved(AlignedBuffer<double>& memory, std::int64_t rows, std::int64_t cols) {
  return {memory.reserve(static_cast<std::size_t>(rows * cols)), rows, cols, cols, 1};
}

Matrix<double> zeros(std::int64_t rows, std::int64_t cols) {
  Matrix<double> out(rows, cols);
  std::fill_n(out.data(), rows * cols, 0.0);
  return out;
}

/// Number of heads of `rank` rows to process at once: the smallest number that fills whole panels,
/// so that groups are independent of each other.
std::int64_t heads_at_once(std::int64_t rank) {
  return std::lcm(rank, PackedMatrix::kRowStep) / rank;
}

/// Calls part(first, count) for groups of heads_at_once(rank) heads, on any thread.
template <class Part>
void run_by_heads(const Compute& compute, std::int64_t heads, std::int64_t rank, Part part) {
  const std::int64_t step = heads_at_once(rank), parts = (heads + step - 1) / step;
  run_parts(compute, static_cast<std::size_t>(parts), [&](std::size_t at) {
    const std::int64_t first = static_cast<std::int64_t>(at) * step;
    part(first, std::min(step, heads - first));
  });
}

/// R of the right factor of every key/value head of `heads`; no rows for a factor that is not
/// finite.
std::vector<Matrix<double>> right_roots(const CircuitWeights& weights, HeadRange heads,
                                        const Compute& compute) {
  const HeadShape& shape = weights.heads;
  const std::int64_t first = shape.kv_head(heads.first);
  const std::int64_t count = shape.kv_head(heads.first + heads.count - 1) - first + 1;
  std::vector<Matrix<double>> out(static_cast<std::size_t>(count));
  run_parts(compute, out.size(), [&](std::size_t at) {
    const std::int64_t head = (first + static_cast<std::int64_t>(at)) * shape.group_size();
    const MatrixView<const double> right = head_factors(weights, head).right;
    if (all_finite(right)) out[at] = gram_root(right, compute);
  });
  return out;
}

/// R of the right factor times the left factor, R_K W_Q or R_V W_Oᵀ, stacked over `heads`; zeros
/// for a head that is not finite. Sets the norms of the circuits.
PackedMatrix reduced_heads(const CircuitWeights& weights, HeadRange heads,
                           std::vector<std::optional<double>>& norms, const Compute& compute) {
  const HeadShape& shape = weights.heads;
  const CircuitFactors any = head_factors(weights, heads.first);
  const std::int64_t rank = std::min(any.right.rows, any.right.cols), width = any.left.cols;
  const std::vector<Matrix<double>> roots = right_roots(weights, heads, compute);
  norms.resize(static_cast<std::size_t>(heads.count));
  PackedMatrix out(heads.count * rank, width, compute);
  run_by_heads(compute, heads.count, rank, [&](std::int64_t first, std::int64_t count) {
    thread_local AlignedBuffer<double> memory;
    const MatrixView<double> rows = reserved(memory, count * rank, width);
    std::fill_n(rows.data, rows.rows * rows.cols, 0.0);
    for (std::int64_t at = 0; at < count; ++at) {
      const std::int64_t head = heads.first + first + at;
      const Matrix<double>& root =
          roots[static_cast<std::size_t>(shape.kv_head(head) - shape.kv_head(heads.first))];
      const MatrixView<const double> left = head_factors(weights, head).left;
      if (root.rows() == 0 || !all_finite(left)) continue;
      const Matrix<double> own = multiply_transposed(root.view(), left.transposed(), compute);
      norms[static_cast<std::size_t>(first + at)] = frobenius_norm(own);
      copy_rows(own.view(), rows, at * rank);
    }
    out.set_rows(first * rank, rows, compute);
  });
  return out;
}

/// Converts norms of the blocks (rank, rank of writers) of `met` into scores. Its rows are grouped
/// by reader, starting with `first_reader`.
void add_scores(MatrixView<const double> met, std::int64_t rank, const ReadingHeads& readers,
                std::int64_t first_reader, const WritingHeads& writers, Matrix<double>& scores) {
  for (std::int64_t reader = 0; reader < met.rows / rank; ++reader) {
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

bool is_finite_head(const CircuitWeights& weights, std::int64_t head) {
  const CircuitFactors factors = head_factors(weights, head);
  return all_finite(factors.left) && all_finite(factors.right);
}

ReadingHeads prepare_readers(const CircuitWeights& weights, ReadingKind kind, HeadRange heads,
                             const Compute& compute) {
  ReadingHeads out{.kind = kind, .heads = heads};
  if (kind == ReadingKind::query) {
    // ‖W_Kᵀ W_Q X‖ = ‖R_K W_Q X‖.
    out.readers = reduced_heads(weights, heads, out.norms, compute);
    return out;
  }
  // ‖W_Qᵀ W_K X‖ = ‖R_Q (W_K X)‖. The query heads of a group share W_K X.
  const CircuitFactors any = head_factors(weights, heads.first);
  const std::int64_t inner = any.left.rows, rank = std::min(inner, any.left.cols);
  const std::int64_t group = weights.heads.group_size(), kv_heads = heads.count / group;
  const std::vector<Matrix<double>> right = right_roots(weights, heads, compute);
  out.norms.resize(static_cast<std::size_t>(heads.count));
  out.readers = PackedMatrix(kv_heads * inner, any.right.cols, compute);
  out.triangles.resize(static_cast<std::size_t>(kv_heads));
  const auto prepare_group = [&](std::int64_t kv_head, MatrixView<double> shared,
                                 std::int64_t first_row) {
    const auto at = static_cast<std::size_t>(kv_head);
    Matrix<double> stacked = zeros(group * rank, inner);
    const bool finite = right[at].rows() > 0;
    if (finite) {
      copy_rows(head_factors(weights, heads.first + kv_head * group).right, shared, first_row);
    }
    for (std::int64_t member = 0; member < group && finite; ++member) {
      const std::int64_t head = kv_head * group + member;
      const CircuitFactors factors = head_factors(weights, heads.first + head);
      if (!all_finite(factors.left)) continue;
      const Matrix<double> left = gram_root(factors.left, compute);
      copy_rows(left.view(), stacked.view(), member * rank);
      out.norms[static_cast<std::size_t>(head)] =
          frobenius_norm(multiply_transposed(left.view(), right[at].view(), compute));
    }
    out.triangles[at] = PackedMatrix(stacked.view(), compute);
  };
  run_by_heads(compute, kv_heads, inner, [&](std::int64_t first, std::int64_t count) {
    thread_local AlignedBuffer<double> memory;
    const MatrixView<double> shared = reserved(memory, count * inner, any.right.cols);
    std::fill_n(shared.data, shared.rows * shared.cols, 0.0);
    for (std::int64_t at = 0; at < count; ++at) prepare_group(first + at, shared, at * inner);
    out.readers.set_rows(first * inner, shared, compute);
  });
  return out;
}

WritingHeads prepare_writers(const CircuitWeights& weights, HeadRange heads,
                             const Compute& compute) {
  const CircuitFactors any = head_factors(weights, heads.first);
  WritingHeads out{.heads = heads, .rank = std::min(any.right.rows, any.right.cols)};
  // ‖X W_O W_V‖ = ‖X W_O Rᵀ‖ with RᵀR = W_V W_Vᵀ.
  out.written = reduced_heads(weights, heads, out.norms, compute);
  return out;
}

Matrix<double> composition_scores(const ReadingHeads& readers, const WritingHeads& writers,
                                  const Compute& compute) {
  Matrix<double> scores(readers.heads.count, writers.heads.count);
  std::fill_n(scores.data(), scores.rows() * scores.cols(),
              std::numeric_limits<double>::quiet_NaN());
  if (scores.rows() == 0 || scores.cols() == 0) return scores;
  const bool by_query = readers.triangles.empty();
  const std::int64_t kv_heads = by_query ? readers.heads.count : std::ssize(readers.triangles);
  const std::int64_t inner = readers.readers.rows() / kv_heads;
  const std::int64_t group = readers.heads.count / kv_heads;
  run_by_heads(compute, kv_heads, inner, [&](std::int64_t first, std::int64_t count) {
    thread_local AlignedBuffer<double> met_memory, product_memory;
    thread_local PackedMatrix shared;
    const std::int64_t written = writers.written.rows();
    const MatrixView<double> met = reserved(met_memory, count * inner, written);
    multiply_transposed_rows(readers.readers, first * inner, writers.written, met, compute);
    if (by_query) return add_scores(met, inner, readers, first, writers, scores);
    for (std::int64_t at = 0; at < count; ++at) {
      const PackedMatrix& triangles = readers.triangles[static_cast<std::size_t>(first + at)];
      shared.assign(met.row_block(at * inner, inner).transposed(), compute);
      const MatrixView<double> product = reserved(product_memory, triangles.rows(), written);
      multiply_transposed_rows(triangles, 0, shared, product, compute);
      add_scores(product, triangles.rows() / group, readers, (first + at) * group, writers, scores);
    }
  });
  return scores;
}

double composition_baseline(std::int64_t width) {
  return 1 / std::sqrt(static_cast<double>(width));
}

}  // namespace attnscope
