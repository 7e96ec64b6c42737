// The rows of the candidate tokens in a basis, without the components that all of them share.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// Candidate tokens that can describe a direction, and their rarity.
struct CandidateTokens {
  std::vector<std::int64_t> ids;  // trained tokens, ascending
  /// Rarity per token, centered and scaled to unit length: the cosine of its unembedding row with
  /// those of tokens that no text contains. Empty if there are no such tokens; then nothing is
  /// removed.
  std::vector<double> rarity;
};

/// A basis: returns the rows (ids, D) of any tokens. The row of a token does not depend on the
/// other tokens. Called by several threads at once.
using RowsOfTokens =
    std::function<Matrix<float>(std::span<const std::int64_t> ids, const Compute& compute)>;

/// Rows minus their mean over the candidate tokens, and without their component along the axis: the
/// direction along which they follow rarity. Sums over tokens are computed in blocks, so that
/// results do not depend on how many rows are in memory.
class CandidateRows {
 public:
  /// Number of rows that a thread computes and sums at a time.
  static constexpr std::int64_t kBlock = 512;

  /// Reads all rows. `max_rows_in_memory`: approximate limit. If it is below the number of rows,
  /// rows are recomputed whenever they are needed. The arguments must outlive this object.
  CandidateRows(const CandidateTokens& tokens, const RowsOfTokens& rows, std::int64_t width,
                std::int64_t max_rows_in_memory, const Compute& compute);

  std::int64_t count() const { return std::ssize(tokens_.ids); }
  std::int64_t width() const { return width_; }
  std::int64_t id(std::int64_t place) const { return tokens_.ids[static_cast<std::size_t>(place)]; }
  bool knows_rarity() const { return !tokens_.rarity.empty(); }

  /// Calls visit(index of its first row, rows) for all rows, some at a time. Call it once.
  void visit_all(const std::function<void(std::int64_t, MatrixView<const float>)>& visit);

  /// Returns the rows with these indices. Call visit_all() first.
  Matrix<float> at(std::span<const std::int64_t> places) const;

  /// The component that was removed, along the axis. Sums over a = row · axis are set by
  /// visit_all().
  struct Axis {
    std::vector<double> unit;        // (D,); zeros if nothing follows rarity
    double length = 0;               // of Σ rarity · row
    double squares = 0;              // Σ a²
    std::vector<double> times_rows;  // Σ a · remaining row, (D,)
  };
  const Axis& axis() const { return axis_; }

 private:
  struct Sums;

  bool has_all_in_memory() const { return rows_in_memory_ == count(); }
  template <class Each>
  MatrixView<float> for_blocks(std::int64_t first, Sums& sums, const Each& each);
  void make(std::int64_t first, MatrixView<float> rows) const;
  double take_out(float* row) const;

  const CandidateTokens& tokens_;
  const RowsOfTokens& rows_of_;
  const std::int64_t width_, rows_in_memory_;
  const Compute& compute_;
  Matrix<float> held_;
  std::vector<double> mean_;  // (D,)
  Axis axis_;
};

}  // namespace attnscope
