#include "attnscope/analysis/scored_directions.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace attnscope {
namespace {

/// Rows that are multiplied before their scores are looked at: these stay in the cache.
constexpr std::int64_t kRows = 512;

constexpr auto kMost = static_cast<std::size_t>(ScoredDirections::kMost);
constexpr float kBeyond = std::numeric_limits<float>::infinity();

bool is_higher(const PlacedScore& a, const PlacedScore& b) {
  return a.score != b.score ? a.score > b.score : a.place < b.place;
}

/// Of all kMost at once, without branches between them.
template <class Passes>
bool any(const float* scores, const Passes& passes) {
  int found = 0;
  for (std::size_t at = 0; at < kMost; ++at) found |= passes(scores[at], at) ? 1 : 0;
  return found != 0;
}

LinearWeights rounded(MatrixView<const double> directions, const Compute& compute) {
  Matrix<float> out(directions.rows, directions.cols);
  for (std::int64_t row = 0; row < out.rows(); ++row) {
    for (std::int64_t col = 0; col < out.cols(); ++col) {
      out(row, col) = static_cast<float>(directions(row, col));
    }
  }
  return {std::as_const(out).view(), /*packed=*/true, compute};
}

}  // namespace

float HighestScores::add(PlacedScore score) {
  kept_.push_back(score);
  if (kept_.size() == 2 * most_) drop_lower();
  return floor_;
}

void HighestScores::drop_lower() {
  std::nth_element(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(most_ - 1),
                   kept_.end(), is_higher);
  kept_.resize(most_);
  floor_ = kept_.back().score;
}

std::vector<PlacedScore> HighestScores::sorted() const {
  std::vector<PlacedScore> out = kept_;
  std::sort(out.begin(), out.end(), is_higher);
  out.resize(std::min(out.size(), most_));
  return out;
}

ScoredDirections::ScoredDirections(MatrixView<const double> directions, Keep keep, std::size_t most,
                                   const Compute& compute)
    : weights_(rounded(directions, compute)),
      both_(keep == Keep::both),
      highest_(static_cast<std::size_t>(directions.rows), HighestScores(most)),
      lowest_(both_ ? highest_ : std::vector<HighestScores>()) {
  floors_.fill(kBeyond);
  ceilings_.fill(-kBeyond);
  std::fill_n(floors_.begin(), highest_.size(), -kBeyond);
  std::fill_n(ceilings_.begin(), lowest_.size(), kBeyond);
}

void ScoredDirections::add(std::int64_t place, MatrixView<const float> rows,
                           const Compute& compute) {
  thread_local std::vector<float> memory(static_cast<std::size_t>(kRows) * kMost);
  for (std::int64_t first = 0; first < rows.rows; first += kRows) {
    const std::int64_t some = std::min(kRows, rows.rows - first);
    const MatrixView<float> scores = {memory.data(), some, count(), ScoredDirections::kMost, 1};
    apply_linear(rows.row_block(first, some), weights_, {}, scores, compute);
    for (std::int64_t row = 0; row < some; ++row) keep(place + first + row, &scores(row, 0));
  }
}

void ScoredDirections::keep(std::int64_t place, const float* scores) {
  if (any(scores, [&](float score, std::size_t at) { return score > floors_[at]; })) {
    for (std::size_t at = 0; at < highest_.size(); ++at) {
      if (scores[at] > floors_[at]) floors_[at] = highest_[at].add({place, scores[at]});
    }
  }
  if (!both_) return;
  if (any(scores, [&](float score, std::size_t at) { return score < ceilings_[at]; })) {
    for (std::size_t at = 0; at < lowest_.size(); ++at) {
      if (scores[at] < ceilings_[at]) ceilings_[at] = -lowest_[at].add({place, -scores[at]});
    }
  }
  for (std::size_t at = 0; at < kMost; ++at) {
    const auto score = static_cast<double>(scores[at]);
    squares_[at] += score * score;
    cubes_[at] += score * score * score;
  }
}

}  // namespace attnscope
