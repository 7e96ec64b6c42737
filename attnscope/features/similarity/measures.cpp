#include "attnscope/features/similarity/measures.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "attnscope/features/weights/measures.h"
#include "attnscope/numerics/products/dense_products.h"

namespace attnscope {
namespace {

constexpr std::size_t kWithin = static_cast<std::size_t>(PairScope::within_head);
constexpr std::size_t kAcross = static_cast<std::size_t>(PairScope::across_head);
constexpr std::size_t kAll = static_cast<std::size_t>(PairScope::all);

/// Rows per block of products: enough for BLAS to run at full rate.
constexpr std::int64_t kPanel = 512;

double settled_cosine(double cosine) {
  constexpr double kShift = 96;  // 1.5 * 2^6: float64 spacing is 2^-46 here
  return std::clamp(cosine + kShift - kShift, -1.0, 1.0);
}

/// The nonzero rows of a matrix, scaled to length 1 on request.
template <class T>
class UnitRows {
 public:
  UnitRows(MatrixView<const T> matrix, std::int64_t head_rows) : matrix_(matrix) {
    for (std::int64_t row = 0; row < matrix.rows; ++row) {
      const double factor = inverse_norm(row);
      if (factor == 0) continue;
      rows_.push_back(row);
      factors_.push_back(factor);
      heads_.push_back(row / head_rows);
    }
    head_ends_.resize(rows_.size());
    for (std::int64_t at = count() - 1; at >= 0; --at) {
      const auto index = static_cast<std::size_t>(at);
      const bool last = at + 1 == count() || heads_[index + 1] != heads_[index];
      head_ends_[index] = last ? at + 1 : head_ends_[index + 1];
    }
  }

  std::int64_t count() const { return std::ssize(rows_); }
  std::int64_t row(std::int64_t at) const { return rows_[static_cast<std::size_t>(at)]; }
  /// End (exclusive) of the rows that belong to the same head as row `at`.
  std::int64_t head_end(std::int64_t at) const { return head_ends_[static_cast<std::size_t>(at)]; }

  /// (count, D).
  Matrix<double> panel(std::int64_t first, std::int64_t count) const {
    Matrix<double> out(count, matrix_.cols);
    for (std::int64_t line = 0; line < count; ++line) {
      const auto index = static_cast<std::size_t>(first + line);
      for (std::int64_t col = 0; col < matrix_.cols; ++col) {
        out(line, col) = factors_[index] * static_cast<double>(matrix_(rows_[index], col));
      }
    }
    return out;
  }

  double cosine(std::int64_t a, std::int64_t b) const {
    const auto first = static_cast<std::size_t>(a), second = static_cast<std::size_t>(b);
    constexpr std::int64_t kLanes = 4;  // independent sums, so that the compiler can vectorize
    std::array<double, kLanes> sums{};
    for (std::int64_t col = 0; col < matrix_.cols; ++col) {
      sums[static_cast<std::size_t>(col % kLanes)] +=
          (factors_[first] * static_cast<double>(matrix_(rows_[first], col))) *
          (factors_[second] * static_cast<double>(matrix_(rows_[second], col)));
    }
    return settled_cosine((sums[0] + sums[1]) + (sums[2] + sums[3]));
  }

 private:
  /// 0 for a zero row. Scaling by a power of two prevents overflow in the squares of float64.
  double inverse_norm(std::int64_t row) const {
    double largest = 0;
    for (std::int64_t col = 0; col < matrix_.cols; ++col) {
      largest = std::max(largest, std::abs(static_cast<double>(matrix_(row, col))));
    }
    if (largest == 0) return 0;
    int exponent = 0;
    std::frexp(largest, &exponent);
    const double scale = std::ldexp(1.0, -std::max(exponent, -1000));
    double sum = 0;
    for (std::int64_t col = 0; col < matrix_.cols; ++col) {
      const double value = scale * static_cast<double>(matrix_(row, col));
      sum += value * value;
    }
    return scale / std::sqrt(sum);
  }

  MatrixView<const T> matrix_;
  std::vector<std::int64_t> rows_;
  std::vector<double> factors_;
  std::vector<std::int64_t> heads_;
  std::vector<std::int64_t> head_ends_;
};

/// Calls visit(a, b, cosines) for runs of pairs (a, b), (a, b + 1), …; every pair a < b occurs
/// once.
template <class T, class Visit>
void for_each_stretch(const UnitRows<T>& rows, const Compute& compute, Visit visit) {
  std::vector<double> gram;
  for (std::int64_t i = 0; i < rows.count(); i += kPanel) {
    compute.check_stop();
    const std::int64_t height = std::min(kPanel, rows.count() - i);
    const Matrix<double> upper = rows.panel(i, height);
    gram.assign(static_cast<std::size_t>(height * height), 0.0);
    add_products_of_rows(height, upper.cols(), upper.data(), gram.data());
    for (std::int64_t a = 0; a < height; ++a) {
      // Column a of the lower triangle: products of row a with the rows after it.
      visit(i + a, i + a + 1,
            std::span(gram).subspan(static_cast<std::size_t>(a * height + a + 1),
                                    static_cast<std::size_t>(height - a - 1)));
    }
    for (std::int64_t j = i + height; j < rows.count(); j += kPanel) {
      const Matrix<double> lower = rows.panel(j, std::min(kPanel, rows.count() - j));
      Matrix<double> block = multiply_transposed(upper.view(), lower.view(), compute);
      for (std::int64_t a = 0; a < height; ++a) {
        visit(i + a, j, std::span(&block(a, 0), static_cast<std::size_t>(block.cols())));
      }
    }
  }
}

/// Calls visit(scope, cosines) for all pairs, each in its specific scope (not in `all`).
template <class T, class Visit>
void for_each_scope(const UnitRows<T>& rows, const Compute& compute, Visit visit) {
  for_each_stretch(rows, compute, [&](std::int64_t a, std::int64_t b, std::span<double> cosines) {
    for (double& cosine : cosines) cosine = settled_cosine(cosine);
    const std::int64_t own = std::clamp<std::int64_t>(rows.head_end(a) - b, 0, std::ssize(cosines));
    const auto split = static_cast<std::size_t>(own);
    if (split > 0) visit(kWithin, cosines.first(split));
    if (split < cosines.size()) visit(kAcross, cosines.subspan(split));
  });
}

/// Number of pairs in each scope.
template <class T>
std::array<std::int64_t, 3> count_pairs(const UnitRows<T>& rows) {
  std::array<std::int64_t, 3> pairs{};
  for (std::int64_t a = 0; a < rows.count(); ++a) {
    pairs[kWithin] += rows.head_end(a) - a - 1;
    pairs[kAcross] += rows.count() - rows.head_end(a);
  }
  pairs[kAll] = pairs[kWithin] + pairs[kAcross];
  return pairs;
}

/// Cosines of random pairs of a scope, with a fixed seed; empty if the scope has no pairs.
template <class T>
std::vector<double> sample_pairs(const UnitRows<T>& rows, std::size_t scope, std::int64_t wanted) {
  // Row a is drawn in proportion to the number of its later partners in the scope.
  std::vector<std::int64_t> ends;
  std::int64_t total = 0;
  for (std::int64_t a = 0; a < rows.count(); ++a) {
    const std::int64_t end = scope == kWithin ? rows.head_end(a) : rows.count();
    const std::int64_t begin = scope == kAcross ? rows.head_end(a) : a + 1;
    ends.push_back(total += end - begin);
  }
  std::vector<double> sample;
  std::mt19937_64 random(1);
  for (std::int64_t index = 0; index < std::min(wanted, total); ++index) {
    const auto pair = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(total));
    const std::int64_t a = std::upper_bound(ends.begin(), ends.end(), pair) - ends.begin();
    const std::int64_t begin = scope == kAcross ? rows.head_end(a) : a + 1;
    const std::int64_t before = a == 0 ? 0 : ends[static_cast<std::size_t>(a - 1)];
    sample.push_back(rows.cosine(a, begin + pair - before));
  }
  return sample;
}

/// Statistics of one scope.
struct ScopeSums {
  MomentSums moments;
  std::optional<SpreadSearch> spread;
  std::optional<Histogram> histogram;

  void add(std::span<const double> cosines) {
    moments.add(cosines);
    if (spread) spread->add(cosines);
    if (histogram) histogram->add(cosines);
  }
};

/// Chooses the bins by the rule; returns false if a sample was misleading.
bool choose_histograms(std::vector<ScopeSums>& sums, const BinRule& rule,
                       std::array<ScopeSimilarity, 3>& scopes) {
  std::array<std::optional<Spread>, 3> spreads;
  for (std::size_t scope = 0; scope < 3; ++scope) {
    spreads[scope] = sums[scope].spread->spread();
    if (!spreads[scope]) return false;
  }
  for (std::size_t scope = 0; scope < 3; ++scope) {
    Bins bins = choose_bins(rule, *spreads[scope]);
    scopes[scope].note = bins.note;
    if (!bins.edges.empty()) scopes[scope].histogram.emplace(std::move(bins.edges));
  }
  return true;
}

}  // namespace

template <class T>
Similarity cosine_similarity(MatrixView<const T> matrix, std::int64_t head_rows,
                             const std::optional<BinRule>& bins, const Compute& compute) {
  const UnitRows<T> rows(matrix, head_rows);
  const std::array<std::int64_t, 3> pairs = count_pairs(rows);
  const bool searched = bins && bins->freedman_diaconis;
  Similarity out{.zero_vectors = matrix.rows - rows.count()};

  for (double margin = kFirstMargin;; margin *= 8) {
    std::vector<ScopeSums> sums;
    for (std::size_t scope = 0; scope < 3; ++scope) {
      const std::vector<double> sample = sample_pairs(rows, scope, searched ? 8192 : 256);
      ScopeSums& own = sums.emplace_back(ScopeSums{MomentSums(sample), {}, {}});
      if (searched) {
        own.spread.emplace(*bins, sample, pairs[scope], margin);
      } else if (bins) {
        own.histogram.emplace(choose_bins(*bins, {}).edges);
      }
    }
    for_each_scope(rows, compute, [&](std::size_t scope, std::span<const double> cosines) {
      sums[scope].add(cosines);
      sums[kAll].add(cosines);
    });
    for (std::size_t scope = 0; scope < 3; ++scope) {
      ScopeSimilarity& own = out.scopes[scope];
      own.pairs = pairs[scope];
      own.histogram = std::move(sums[scope].histogram);
      if (own.pairs == 0) continue;
      const Moments moments = sums[scope].moments.moments();
      own.mean = moments.mean;
      own.std = moments.std;
    }
    if (!searched) return out;
    if (!choose_histograms(sums, *bins, out.scopes)) continue;
    for_each_scope(rows, compute, [&](std::size_t scope, std::span<const double> cosines) {
      for (const std::size_t holder : {scope, kAll}) {
        if (out.scopes[holder].histogram) out.scopes[holder].histogram->add(cosines);
      }
    });
    return out;
  }
}

Record scope_fields(PairScope scope, const Similarity& similarity, bool with_histogram) {
  const auto index = static_cast<std::size_t>(scope);
  const ScopeSimilarity& own = similarity.scopes[index];
  Record fields = {{"scope", kPairScopeNames[index]},
                   {"pairs", own.pairs},
                   {"zero_vectors", similarity.zero_vectors},
                   {"mean", own.mean},
                   {"std", own.std}};
  if (with_histogram) {
    fields.add("histogram", own.histogram ? Value(histogram_fields(*own.histogram)) : Value());
  }
  return fields;
}

template <class T>
Matrix<double> cosine_matrix(MatrixView<const T> matrix, const Compute& compute) {
  const UnitRows<T> rows(matrix, std::max<std::int64_t>(matrix.rows, 1));
  Matrix<double> out(matrix.rows, matrix.rows);
  std::fill_n(out.data(), matrix.rows * matrix.rows, std::numeric_limits<double>::quiet_NaN());
  for (std::int64_t a = 0; a < rows.count(); ++a) out(rows.row(a), rows.row(a)) = 1;
  for_each_stretch(
      rows, compute, [&](std::int64_t a, std::int64_t b, std::span<const double> cosines) {
        for (const double cosine : cosines) {
          out(rows.row(a), rows.row(b)) = out(rows.row(b), rows.row(a)) = settled_cosine(cosine);
          ++b;
        }
      });
  return out;
}

template Similarity cosine_similarity(MatrixView<const float>, std::int64_t,
                                      const std::optional<BinRule>&, const Compute&);
template Similarity cosine_similarity(MatrixView<const double>, std::int64_t,
                                      const std::optional<BinRule>&, const Compute&);
template Matrix<double> cosine_matrix(MatrixView<const float>, const Compute&);
template Matrix<double> cosine_matrix(MatrixView<const double>, const Compute&);

namespace {

template <class T>
Matrix<double> to_float64(MatrixView<const T> matrix) {
  Matrix<double> out(matrix.rows, matrix.cols);
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t col = 0; col < matrix.cols; ++col) {
      out(row, col) = static_cast<double>(matrix(row, col));
    }
  }
  return out;
}

}  // namespace

template <class T>
HeadOverlap head_overlap(MatrixView<const T> matrix, std::int64_t head_rows, Resolution resolution,
                         const Compute& compute) {
  const std::int64_t heads = matrix.rows / head_rows;
  const double tolerance = static_cast<double>(std::max(head_rows, matrix.cols)) *
                           (resolution == Resolution::float64 ? 0x1p-52 : 0x1p-23);
  HeadOverlap out{.overlap = Matrix<double>(heads, heads)};
  // Stacks the bases, so that one product compares a head with all later ones.
  Matrix<double> bases(matrix.rows, matrix.cols);
  std::vector<std::int64_t> starts = {0};
  for (std::int64_t head = 0; head < heads; ++head) {
    const Matrix<double> basis = row_space_basis(
        to_float64(matrix.row_block(head * head_rows, head_rows)).view(), tolerance, compute);
    std::copy_n(basis.data(), basis.rows() * basis.cols(),
                bases.data() + starts.back() * matrix.cols);
    out.ranks.push_back(basis.rows());
    starts.push_back(starts.back() + basis.rows());
  }
  std::fill_n(out.overlap.data(), heads * heads, std::numeric_limits<double>::quiet_NaN());
  const MatrixView<const double> all = bases.view();
  for (std::int64_t a = 0; a < heads; ++a) {
    const std::int64_t rank = out.ranks[static_cast<std::size_t>(a)];
    if (rank == 0) continue;
    out.overlap(a, a) = 1;
    const std::int64_t start = starts[static_cast<std::size_t>(a)], next = start + rank;
    if (next == starts.back()) continue;
    const Matrix<double> products = multiply_transposed(
        all.row_block(start, rank), all.row_block(next, starts.back() - next), compute);
    for (std::int64_t b = a + 1; b < heads; ++b) {
      const std::int64_t other = out.ranks[static_cast<std::size_t>(b)];
      if (other == 0) continue;
      const auto block =
          products.view().col_block(starts[static_cast<std::size_t>(b)] - next, other);
      double squares = 0;
      for (std::int64_t row = 0; row < block.rows; ++row) {
        for (std::int64_t col = 0; col < block.cols; ++col) {
          squares += block(row, col) * block(row, col);
        }
      }
      out.overlap(a, b) = out.overlap(b, a) =
          std::min(squares / static_cast<double>(std::min(rank, other)), 1.0);
    }
  }
  return out;
}

Record overlap_fields(const HeadOverlap& measured) {
  const std::int64_t heads = measured.overlap.rows();
  const double* first = measured.overlap.data();
  return {{"overlap", Array{{heads, heads}, std::vector<double>(first, first + heads * heads)}},
          {"ranks", measured.ranks}};
}

template HeadOverlap head_overlap(MatrixView<const float>, std::int64_t, Resolution,
                                  const Compute&);
template HeadOverlap head_overlap(MatrixView<const double>, std::int64_t, Resolution,
                                  const Compute&);

}  // namespace attnscope
