#include "attnscope/analysis/named_lists.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "attnscope/analysis/quantiles.h"
#include "attnscope/numerics/products/dense_products.h"

namespace attnscope {
namespace {

/// Rows of a basis that are looked at together.
constexpr std::int64_t kBlock = 1024;

/// The highest scores so far, kept as a heap whose front is the lowest of them.
class Highest {
 public:
  void offer(std::int64_t token, double score, std::size_t most) {
    const auto higher = [](const NamedToken& a, const NamedToken& b) {
      return a.score != b.score ? a.score > b.score : a.id < b.id;
    };
    if (tokens_.size() == most && score <= tokens_.front().score) return;
    tokens_.push_back({.id = token, .score = score});
    std::push_heap(tokens_.begin(), tokens_.end(), higher);
    if (tokens_.size() <= most) return;
    std::pop_heap(tokens_.begin(), tokens_.end(), higher);
    tokens_.pop_back();
  }

  std::vector<NamedToken> sorted() const {
    std::vector<NamedToken> out = tokens_;
    std::sort(out.begin(), out.end(), [](const NamedToken& a, const NamedToken& b) {
      return a.score != b.score ? a.score > b.score : a.id < b.id;
    });
    return out;
  }

 private:
  std::vector<NamedToken> tokens_;
};

/// Of one column of scores.
struct Column {
  Highest plus, minus;
  double squares = 0, cubes = 0;  // of the scores
  double with_axis = 0;           // Σ score · (row · axis)
  double along_axis = 0;          // of the direction itself
};

class Namer {
 public:
  Namer(const NamingTokens& tokens, const RowsOfTokens& rows, const Compute& compute)
      : tokens_(tokens), rows_(rows), compute_(compute) {}

  NamedDirections run(MatrixView<const double> directions, std::int64_t top) {
    width_ = directions.cols;
    find_mean_and_axis();
    top_ = static_cast<std::size_t>(
        std::min<std::int64_t>(std::max(top, kCoherentTokens), std::ssize(tokens_.ids)));
    put_columns(directions);
    score_all(directions.rows);
    NamedDirections out;
    std::vector<double> random;
    for (std::size_t at = 0; at < columns_.size(); ++at) {
      const bool asked = static_cast<std::int64_t>(at) < directions.rows;
      if (!asked) {
        random.push_back(coherence(columns_[at].plus.sorted()));
        continue;
      }
      out.directions.push_back(
          named(columns_[at], directions.row_block(static_cast<std::int64_t>(at), 1)));
      for (NamedPole& pole : out.directions.back().poles) {
        pole.tokens.resize(std::min(pole.tokens.size(), static_cast<std::size_t>(top)));
      }
    }
    std::sort(random.begin(), random.end());
    const QuantilePlace place = quantile_place(kRandomDirections, 0.99);
    out.null_coherence = interpolate(random[static_cast<std::size_t>(place.below)],
                                     random[static_cast<std::size_t>(place.above)], place.weight);
    return out;
  }

 private:
  template <class Visit>
  void for_blocks(const Visit& visit) const {
    for (std::size_t first = 0; first < tokens_.ids.size(); first += kBlock) {
      compute_.check_stop();
      const auto ids =
          std::span(tokens_.ids)
              .subspan(first, std::min<std::size_t>(kBlock, tokens_.ids.size() - first));
      visit(first, ids, rows_(ids));
    }
  }

  void find_mean_and_axis() {
    mean_.assign(static_cast<std::size_t>(width_), 0.0);
    axis_.assign(mean_.size(), 0.0);
    for_blocks(
        [&](std::size_t first, std::span<const std::int64_t> ids, const Matrix<float>& rows) {
          for (std::size_t row = 0; row < ids.size(); ++row) {
            const double rare = tokens_.rarity.empty() ? 0.0 : tokens_.rarity[first + row];
            for (std::size_t col = 0; col < mean_.size(); ++col) {
              const auto value = static_cast<double>(
                  rows(static_cast<std::int64_t>(row), static_cast<std::int64_t>(col)));
              mean_[col] += value;
              axis_[col] += rare * value;
            }
          }
        });
    double squares = 0;
    for (double& value : mean_) value /= static_cast<double>(tokens_.ids.size());
    for (const double value : axis_) squares += value * value;
    axis_length_ = std::sqrt(squares);
    for (double& value : axis_) value = axis_length_ > 0 ? value / axis_length_ : 0.0;
  }

  /// The asked directions, then random ones, each without its part along the axis; the axis last.
  void put_columns(MatrixView<const double> directions) {
    std::mt19937_64 generator(0);
    std::normal_distribution<double> normal;
    vectors_ = Matrix<double>(directions.rows + kRandomDirections + 1, width_);
    columns_.resize(static_cast<std::size_t>(directions.rows + kRandomDirections));
    for (std::int64_t row = 0; row < vectors_.rows(); ++row) {
      const bool asked = row < directions.rows, last = row + 1 == vectors_.rows();
      double along = 0;
      for (std::int64_t col = 0; col < width_; ++col) {
        const double value = last    ? axis_[static_cast<std::size_t>(col)]
                             : asked ? directions(row, col)
                                     : normal(generator);
        vectors_(row, col) = value;
        along += value * axis_[static_cast<std::size_t>(col)];
      }
      if (last) break;
      columns_[static_cast<std::size_t>(row)].along_axis = along;
      for (std::int64_t col = 0; col < width_; ++col) {
        vectors_(row, col) -= along * axis_[static_cast<std::size_t>(col)];
      }
    }
    for (std::int64_t row = 0; row < vectors_.rows(); ++row) {
      double of_mean = 0;
      for (std::int64_t col = 0; col < width_; ++col) {
        of_mean += vectors_(row, col) * mean_[static_cast<std::size_t>(col)];
      }
      mean_scores_.push_back(of_mean);
    }
  }

  void score_all(std::int64_t asked) {
    for_blocks([&](std::size_t, std::span<const std::int64_t> ids, const Matrix<float>& rows) {
      Matrix<double> wide(rows.rows(), rows.cols());
      std::copy_n(rows.data(), rows.rows() * rows.cols(), wide.data());
      constexpr std::size_t kColumns = 64;
      const std::size_t parts = (columns_.size() + kColumns - 1) / kColumns;
      const Matrix<double> on_axis = multiply_transposed(
          wide.view(), vectors_.view().row_block(vectors_.rows() - 1, 1), compute_);
      run_parts(compute_, parts, [&](std::size_t part) {
        const Compute alone{.kernels = compute_.kernels, .stop = compute_.stop};
        const std::size_t first = part * kColumns;
        const std::size_t count = std::min(kColumns, columns_.size() - first);
        const Matrix<double> scores =
            multiply_transposed(wide.view(),
                                vectors_.view().row_block(static_cast<std::int64_t>(first),
                                                          static_cast<std::int64_t>(count)),
                                alone);
        for (std::size_t at = 0; at < count; ++at) {
          Column& column = columns_[first + at];
          const bool both = static_cast<std::int64_t>(first + at) < asked;
          for (std::size_t row = 0; row < ids.size(); ++row) {
            const double score =
                scores(static_cast<std::int64_t>(row), static_cast<std::int64_t>(at)) -
                mean_scores_[first + at];
            column.plus.offer(ids[row], score, top_);
            if (!both) continue;
            column.minus.offer(ids[row], -score, top_);
            column.squares += score * score;
            column.cubes += score * score * score;
            column.with_axis +=
                score * (on_axis(static_cast<std::int64_t>(row), 0) - mean_scores_.back());
          }
        }
        compute_.check_stop();
      });
      for (std::int64_t row = 0; row < on_axis.rows(); ++row) {
        const double value = on_axis(row, 0) - mean_scores_.back();
        axis_squares_ += value * value;
      }
    });
  }

  /// Rows of the basis, without their mean and their part along the axis.
  Matrix<double> centred_rows(const std::vector<NamedToken>& tokens) const {
    std::vector<std::int64_t> ids;
    for (const NamedToken& token : tokens) ids.push_back(token.id);
    const Matrix<float> rows = rows_(ids);
    Matrix<double> out(rows.rows(), rows.cols());
    for (std::int64_t row = 0; row < rows.rows(); ++row) {
      double along = 0;
      for (std::int64_t col = 0; col < width_; ++col) {
        out(row, col) = static_cast<double>(rows(row, col)) - mean_[static_cast<std::size_t>(col)];
        along += out(row, col) * axis_[static_cast<std::size_t>(col)];
      }
      for (std::int64_t col = 0; col < width_; ++col) {
        out(row, col) -= along * axis_[static_cast<std::size_t>(col)];
      }
    }
    return out;
  }

  static double length_of(const Matrix<double>& rows, std::int64_t row) {
    double squares = 0;
    for (std::int64_t col = 0; col < rows.cols(); ++col) squares += rows(row, col) * rows(row, col);
    return std::sqrt(squares);
  }

  double coherence(std::vector<NamedToken> tokens) const {
    tokens.resize(std::min<std::size_t>(tokens.size(), kCoherentTokens));
    return coherence(centred_rows(tokens));
  }

  double coherence(const Matrix<double>& rows) const {
    const auto count = std::min<std::int64_t>(rows.rows(), kCoherentTokens);
    if (count < 2) return 0;
    std::vector<double> sum(static_cast<std::size_t>(width_), 0.0);
    for (std::int64_t row = 0; row < count; ++row) {
      const double length = length_of(rows, row);
      for (std::int64_t col = 0; length > 0 && col < width_; ++col) {
        sum[static_cast<std::size_t>(col)] += rows(row, col) / length;
      }
    }
    double squares = 0;
    for (const double value : sum) squares += value * value;
    const auto of = static_cast<double>(count);
    return (squares - of) / (of * (of - 1));
  }

  NamedDirection named(const Column& column, MatrixView<const double> direction) const {
    NamedDirection out{.skewness = column.cubes};
    double length = 0;
    for (std::int64_t col = 0; col < width_; ++col) length += direction(0, col) * direction(0, col);
    length = std::sqrt(length);
    // Raw scores: those without the axis, and what lies along it.
    const double raw = std::sqrt(column.squares + 2 * column.along_axis * column.with_axis +
                                 column.along_axis * column.along_axis * axis_squares_);
    for (std::size_t pole = 0; pole < 2; ++pole) {
      NamedPole& of_pole = out.poles[pole];
      of_pole.tokens = pole == 0 ? column.plus.sorted() : column.minus.sorted();
      const Matrix<double> rows = centred_rows(of_pole.tokens);
      of_pole.coherence = coherence(rows);
      for (std::int64_t row = 0; row < rows.rows(); ++row) {
        NamedToken& token = of_pole.tokens[static_cast<std::size_t>(row)];
        const double size = length_of(rows, row) * length;
        token.cosine = size > 0 ? token.score / size : 0.0;
      }
      if (tokens_.rarity.empty()) continue;
      const double along = column.along_axis * axis_length_;
      of_pole.rarity = raw > 0 ? (pole == 0 ? along : -along) / raw : 0.0;
    }
    return out;
  }

  const NamingTokens& tokens_;
  const RowsOfTokens& rows_;
  const Compute& compute_;
  std::int64_t width_ = 0;
  std::size_t top_ = 0;
  std::vector<double> mean_, axis_;  // (D,)
  double axis_length_ = 0;           // of Σ rarity · row
  double axis_squares_ = 0;          // Σ (row · axis)²
  Matrix<double> vectors_;
  std::vector<double> mean_scores_;  // of the mean row with each vector
  std::vector<Column> columns_;
};

}  // namespace

NamedDirections name_directions(const NamingTokens& tokens, const RowsOfTokens& rows,
                                MatrixView<const double> directions, std::int64_t top,
                                const Compute& compute) {
  return Namer(tokens, rows, compute).run(directions, top);
}

}  // namespace attnscope
