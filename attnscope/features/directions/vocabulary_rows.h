// The rows of a basis of named tokens, without what all of them have in common.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// Tokens that may name a direction, and how rare each is.
struct CandidateTokens {
  std::vector<std::int64_t> ids;  // those that training saw, ascending
  /// Of each, centred, of unit length: the cosine of its output row with those of tokens that no
  /// text has. Empty where no such tokens are known: then nothing is taken out.
  std::vector<double> rarity;
};

/// The basis of named tokens: gives rows (ids, D) of any of them, each with the same digits
/// whatever the others. Several threads ask at once.
using RowsOfTokens =
    std::function<Matrix<float>(std::span<const std::int64_t> ids, const Compute& compute)>;

/// Rows less their mean over the named tokens, and less their part along the one direction along
/// which they follow rarity: the axis. Sums over tokens are formed in blocks, so that digits do not
/// depend on how many rows are held at once.
class CandidateRows {
 public:
  /// Rows that a thread makes, and sums, at a time.
  static constexpr std::int64_t kBlock = 512;

  /// Reads all rows. `max_rows_in_memory`: about how many may be held at once; where that is not
  /// all of them, rows are made anew whenever they are needed. What is given must outlive it.
  CandidateRows(const CandidateTokens& tokens, const RowsOfTokens& rows, std::int64_t width,
                std::int64_t max_rows_in_memory, const Compute& compute);

  std::int64_t count() const { return std::ssize(tokens_.ids); }
  std::int64_t width() const { return width_; }
  std::int64_t id(std::int64_t place) const { return tokens_.ids[static_cast<std::size_t>(place)]; }
  bool knows_rarity() const { return !tokens_.rarity.empty(); }

  /// visit(place of its first row, rows) of all of them, some at a time. Once.
  void visit_all(const std::function<void(std::int64_t, MatrixView<const float>)>& visit);

  /// The rows at some places, after that.
  Matrix<float> at(std::span<const std::int64_t> places) const;

  /// What was taken out, along the axis. Sums over a = row · axis are known after visit_all().
  struct Axis {
    std::vector<double> unit;        // (D,); zeros where nothing follows rarity
    double length = 0;               // of Σ rarity · row
    double squares = 0;              // Σ a²
    std::vector<double> times_rows;  // Σ a · what is left of the row, (D,)
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
