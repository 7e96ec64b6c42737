#include "attnscope/features/directions/top_pairs.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "attnscope/numerics/products/dense_products.h"

namespace attnscope {
namespace {

/// Rows sorted by decreasing norm.
struct SortedRows {
  Matrix<double> rows;
  std::vector<std::int64_t> order;  // original row indices
  std::vector<double> lengths;
};

SortedRows sorted_rows(MatrixView<const double> rows) {
  std::vector<double> lengths(static_cast<std::size_t>(rows.rows));
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    double sum = 0;
    for (std::int64_t col = 0; col < rows.cols; ++col) sum += rows(row, col) * rows(row, col);
    lengths[static_cast<std::size_t>(row)] = std::sqrt(sum);
  }
  SortedRows out{.rows = Matrix<double>(rows.rows, rows.cols), .order = {}, .lengths = {}};
  out.order.resize(lengths.size());
  std::iota(out.order.begin(), out.order.end(), std::int64_t{0});
  std::stable_sort(out.order.begin(), out.order.end(), [&](std::int64_t a, std::int64_t b) {
    return lengths[static_cast<std::size_t>(a)] > lengths[static_cast<std::size_t>(b)];
  });
  for (std::int64_t at = 0; at < rows.rows; ++at) {
    const std::int64_t row = out.order[static_cast<std::size_t>(at)];
    for (std::int64_t col = 0; col < rows.cols; ++col) out.rows(at, col) = rows(row, col);
    out.lengths.push_back(lengths[static_cast<std::size_t>(row)]);
  }
  return out;
}

bool is_better(const RowPair& one, const RowPair& other) {
  return std::tuple(-one.score, one.a, one.b) < std::tuple(-other.score, other.a, other.b);
}

}  // namespace

std::vector<RowPair> top_pairs(MatrixView<const double> a, MatrixView<const double> b,
                               std::int64_t count, const Compute& compute) {
  constexpr std::int64_t kRowsOfA = 256, kRowsOfB = 2048;
  const SortedRows left = sorted_rows(a), right = sorted_rows(b);
  std::vector<RowPair> best;  // a heap with the smallest first
  // Rounding may raise a product above the product of the norms.
  const double slack = 1 + 1e-12;
  const auto may_reach = [&](std::int64_t of_a, std::int64_t of_b) {
    if (std::ssize(best) < count) return true;
    const double bound = left.lengths[static_cast<std::size_t>(of_a)] *
                         right.lengths[static_cast<std::size_t>(of_b)];
    return bound * slack >= best.front().score;
  };
  for (std::int64_t of_a = 0; of_a < a.rows && may_reach(of_a, 0); of_a += kRowsOfA) {
    const std::int64_t some = std::min(kRowsOfA, a.rows - of_a);
    for (std::int64_t of_b = 0; of_b < b.rows && may_reach(of_a, of_b); of_b += kRowsOfB) {
      compute.check_stop();
      const std::int64_t others = std::min(kRowsOfB, b.rows - of_b);
      const Matrix<double> products =
          multiply_transposed(left.rows.view().row_block(of_a, some),
                              right.rows.view().row_block(of_b, others), compute);
      for (std::int64_t row = 0; row < some; ++row) {
        for (std::int64_t col = 0; col < others; ++col) {
          const RowPair pair{.a = left.order[static_cast<std::size_t>(of_a + row)],
                             .b = right.order[static_cast<std::size_t>(of_b + col)],
                             .score = products(row, col)};
          const bool full = std::ssize(best) == count;
          if (full && !is_better(pair, best.front())) continue;
          if (full) {
            std::pop_heap(best.begin(), best.end(), is_better);
            best.pop_back();
          }
          best.push_back(pair);
          std::push_heap(best.begin(), best.end(), is_better);
        }
      }
    }
  }
  std::sort(best.begin(), best.end(), is_better);
  return best;
}

}  // namespace attnscope
