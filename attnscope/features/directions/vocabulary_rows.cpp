#include "attnscope/features/directions/vocabulary_rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attnscope/numerics/vector_loops.h"

namespace attnscope {
namespace {

std::int64_t blocks_of(std::int64_t rows) {
  return (rows + CandidateRows::kBlock - 1) / CandidateRows::kBlock;
}

}  // namespace

struct CandidateRows::Sums {
  double squares = 0;                   // of the factors
  std::vector<double> rows, multiples;  // Σ row, Σ factor · row, (D,)

  explicit Sums(std::int64_t width)
      : rows(static_cast<std::size_t>(width), 0.0),
        multiples(static_cast<std::size_t>(width), 0.0) {}

  void add(const float* row, double factor) {
    squares += factor * factor;
    for (std::size_t col = 0; col < rows.size(); ++col) {
      const auto value = static_cast<double>(row[col]);
      rows[col] += value;
      multiples[col] += factor * value;
    }
  }

  void add(const Sums& other) {
    squares += other.squares;
    for (std::size_t col = 0; col < rows.size(); ++col) {
      rows[col] += other.rows[col];
      multiples[col] += other.multiples[col];
    }
  }
};

CandidateRows::CandidateRows(const CandidateTokens& tokens, const RowsOfTokens& rows,
                             std::int64_t width, std::int64_t max_rows_in_memory,
                             const Compute& compute)
    : tokens_(tokens),
      rows_of_(rows),
      width_(width),
      rows_in_memory_(
          std::min(count(), std::max<std::int64_t>(1, blocks_of(max_rows_in_memory)) * kBlock)),
      compute_(compute),
      held_(rows_in_memory_, width) {
  Sums sums(width);
  for (std::int64_t first = 0; first < count(); first += rows_in_memory_) {
    for_blocks(first, sums, [&](std::int64_t place, MatrixView<float> block, Sums& of_block) {
      make(place, block);
      for (std::int64_t row = 0; row < block.rows; ++row) {
        const auto token = static_cast<std::size_t>(place + row);
        of_block.add(&block(row, 0), knows_rarity() ? tokens_.rarity[token] : 0.0);
      }
    });
  }
  mean_ = std::move(sums.rows);
  for (double& value : mean_) value /= static_cast<double>(count());
  axis_.unit = std::move(sums.multiples);
  axis_.length = std::sqrt(sum_over(
      axis_.unit.size(), [&](std::size_t col) { return axis_.unit[col] * axis_.unit[col]; }));
  for (double& value : axis_.unit) value = axis_.length > 0 ? value / axis_.length : 0.0;
}

void CandidateRows::visit_all(
    const std::function<void(std::int64_t, MatrixView<const float>)>& visit) {
  Sums sums(width_);
  for (std::int64_t first = 0; first < count(); first += rows_in_memory_) {
    const MatrixView<float> rows =
        for_blocks(first, sums, [&](std::int64_t place, MatrixView<float> block, Sums& of_block) {
          if (!has_all_in_memory()) make(place, block);
          for (std::int64_t row = 0; row < block.rows; ++row) {
            float* values = &block(row, 0);
            const double along = take_out(values);
            of_block.add(values, along);
          }
        });
    visit(first, rows);
  }
  axis_.squares = sums.squares;
  axis_.times_rows = std::move(sums.multiples);
}

Matrix<float> CandidateRows::at(std::span<const std::int64_t> places) const {
  Matrix<float> out(std::ssize(places), width_);
  if (has_all_in_memory()) {
    for (std::int64_t row = 0; row < out.rows(); ++row) {
      std::copy_n(&held_(places[static_cast<std::size_t>(row)], 0), width_, &out(row, 0));
    }
    return out;
  }
  std::vector<std::int64_t> ids;
  for (const std::int64_t place : places) ids.push_back(id(place));
  out = rows_of_(ids, {.kernels = compute_.kernels, .stop = compute_.stop});
  for (std::int64_t row = 0; row < out.rows(); ++row) take_out(&out(row, 0));
  return out;
}

/// Calls each(index of its first row, rows, sums to add to) for blocks of the rows in memory,
/// starting with `first`. The sums of blocks are added in order.
template <class Each>
MatrixView<float> CandidateRows::for_blocks(std::int64_t first, Sums& sums, const Each& each) {
  const MatrixView<float> rows =
      held_.view().row_block(0, std::min(rows_in_memory_, count() - first));
  std::vector<Sums> of_blocks(static_cast<std::size_t>(blocks_of(rows.rows)), Sums(width_));
  run_parts(compute_, of_blocks.size(), [&](std::size_t part) {
    const std::int64_t at = static_cast<std::int64_t>(part) * kBlock;
    each(first + at, rows.row_block(at, std::min(kBlock, rows.rows - at)), of_blocks[part]);
  });
  for (const Sums& of_block : of_blocks) sums.add(of_block);
  return rows;
}

void CandidateRows::make(std::int64_t first, MatrixView<float> rows) const {
  const auto ids =
      std::span(tokens_.ids)
          .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows.rows));
  const Matrix<float> made = rows_of_(ids, {.kernels = compute_.kernels, .stop = compute_.stop});
  std::copy_n(made.data(), rows.rows * width_, rows.data);
}

/// Removes the shared components of one row. Returns its component along the axis.
double CandidateRows::take_out(float* row) const {
  const auto off_mean = [&](std::size_t col) { return static_cast<double>(row[col]) - mean_[col]; };
  const double along =
      sum_over(mean_.size(), [&](std::size_t col) { return off_mean(col) * axis_.unit[col]; });
  for (std::size_t col = 0; col < mean_.size(); ++col) {
    row[col] = static_cast<float>(off_mean(col) - along * axis_.unit[col]);
  }
  return along;
}

}  // namespace attnscope
