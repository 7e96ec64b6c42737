#include "attnscope/features/directions/measures.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <utility>

#include "attnscope/numerics/statistics/quantiles.h"
#include "attnscope/numerics/vector_loops.h"

namespace attnscope {
namespace {

using Keep = ScoredDirections::Keep;

/// Number of rows to score along all directions before the next rows, so that they stay in the
/// cache.
constexpr std::int64_t kSlab = 8192;

/// Number of additional tokens to keep: the final order is decided in float64.
constexpr std::int64_t kSpare = 6;

/// Number of rows of listed tokens that are looked up at a time.
constexpr std::int64_t kGatheredRows = 512;

double product(const double* a, const double* b, std::int64_t size) {
  return sum_over(static_cast<std::size_t>(size), [&](std::size_t at) { return a[at] * b[at]; });
}

double length_of(std::span<const float> row) {
  return std::sqrt(sum_over(row.size(), [&](std::size_t at) {
    const auto value = static_cast<double>(row[at]);
    return value * value;
  }));
}

/// A token that may be in a list, and its row.
struct ListedToken {
  NamedToken token;
  std::span<const float> row;
};

/// Mean pairwise cosine of the first tokens.
double coherence(std::span<const ListedToken> list) {
  const auto count = std::min<std::size_t>(list.size(), kCoherentTokens);
  if (count < 2) return 0;
  std::vector<double> sum(list.front().row.size(), 0.0);
  for (const ListedToken& candidate : list.first(count)) {
    const double length = length_of(candidate.row);
    for (std::size_t col = 0; length > 0 && col < sum.size(); ++col) {
      sum[col] += static_cast<double>(candidate.row[col]) / length;
    }
  }
  const double squares = product(sum.data(), sum.data(), std::ssize(sum));
  const auto of = static_cast<double>(count);
  return (squares - of) / (of * (of - 1));
}

class Namer {
 public:
  Namer(const CandidateTokens& tokens, const RowsOfTokens& rows, const CandidateRequest& request,
        const Compute& compute)
      : request_(request),
        compute_(compute),
        rows_(tokens, rows, request.directions.cols, request.max_rows_in_memory, compute),
        listed_(std::min(std::max(request.top, kCoherentTokens), rows_.count())) {}

  NamedDirections run() {
    put_groups(request_.directions, Keep::both, listed_ + kSpare);
    const std::size_t of_random = groups_.size();
    put_groups(request_.random, Keep::highest, kCoherentTokens);
    score_all();

    NamedDirections out;
    out.directions.resize(static_cast<std::size_t>(request_.directions.rows));
    for_lists(
        2 * std::ssize(out.directions), listed_ + kSpare,
        [&](std::int64_t list) {
          const auto [group, at] = place_of(0, list / 2);
          return list % 2 == 0 ? group.highest(at) : group.lowest(at);
        },
        [&](std::int64_t list, std::vector<ListedToken>& found) {
          NamedDirection& direction = out.directions[static_cast<std::size_t>(list / 2)];
          const auto of_sign = static_cast<std::size_t>(list % 2);
          direction.signs[of_sign] = signed_direction(list / 2, of_sign == 0 ? 1 : -1, found);
        });
    for (std::size_t at = 0; at < out.directions.size(); ++at) {
      set_all_token_statistics(static_cast<std::int64_t>(at), out.directions[at]);
    }

    std::vector<double> null(static_cast<std::size_t>(request_.random.rows));
    for_lists(
        std::ssize(null), kCoherentTokens,
        [&](std::int64_t list) {
          const auto [group, at] = place_of(of_random, list);
          return group.highest(at);
        },
        [&](std::int64_t list, std::vector<ListedToken>& found) {
          null[static_cast<std::size_t>(list)] = coherence(found);
        });
    std::sort(null.begin(), null.end());
    const QuantilePosition position = quantile_position(std::ssize(null), 0.99);
    out.random_coherence =
        interpolate(null[static_cast<std::size_t>(position.below)],
                    null[static_cast<std::size_t>(position.above)], position.weight);
    return out;
  }

 private:
  void put_groups(MatrixView<const double> directions, Keep keep, std::int64_t most) {
    const std::size_t before = groups_.size();
    const auto size = static_cast<std::size_t>(ScoredDirections::kMost);
    groups_.resize(before + (static_cast<std::size_t>(directions.rows) + size - 1) / size);
    run_parts(compute_, groups_.size() - before, [&](std::size_t part) {
      const auto first = static_cast<std::int64_t>(part * size);
      const auto count = std::min(ScoredDirections::kMost, directions.rows - first);
      groups_[before + part].emplace(directions.row_block(first, count), keep,
                                     static_cast<std::size_t>(std::min(most, rows_.count())),
                                     alone());
    });
  }

  /// The group of a direction, and its index in the group.
  struct Place {
    const ScoredDirections& group;
    std::size_t at;
  };
  Place place_of(std::size_t first_group, std::int64_t direction) const {
    const auto group = static_cast<std::size_t>(direction / ScoredDirections::kMost);
    return {*groups_[first_group + group],
            static_cast<std::size_t>(direction % ScoredDirections::kMost)};
  }

  void score_all() {
    rows_.visit_all([&](std::int64_t place, MatrixView<const float> rows) {
      for (std::int64_t first = 0; first < rows.rows; first += kSlab) {
        const auto slab = rows.row_block(first, std::min(kSlab, rows.rows - first));
        run_parts(compute_, groups_.size(),
                  [&](std::size_t group) { groups_[group]->add(place + first, slab, alone()); });
      }
    });
  }

  /// Calls visit(list, its candidates) for lists of about `each` tokens, several in parallel.
  template <class ListOf, class Visit>
  void for_lists(std::int64_t lists, std::int64_t each, const ListOf& list_of,
                 const Visit& visit) const {
    const std::int64_t some = std::max<std::int64_t>(1, kGatheredRows / each);
    run_parts(compute_, static_cast<std::size_t>((lists + some - 1) / some), [&](std::size_t part) {
      const std::int64_t begin = static_cast<std::int64_t>(part) * some;
      const std::int64_t end = std::min(begin + some, lists);
      std::vector<std::vector<PositionedScore>> found;
      std::vector<std::int64_t> places;
      for (std::int64_t list = begin; list < end; ++list) {
        found.push_back(list_of(list));
        for (const PositionedScore& score : found.back()) places.push_back(score.place);
      }
      const Matrix<float> rows = rows_.at(places);
      std::int64_t row = 0;
      for (std::int64_t list = begin; list < end; ++list) {
        std::vector<ListedToken> candidates;
        for (const PositionedScore& score : found[static_cast<std::size_t>(list - begin)]) {
          candidates.push_back(
              {.token = {.id = rows_.id(score.place)},
               .row = std::span(&rows(row++, 0), static_cast<std::size_t>(rows.cols()))});
        }
        visit(list, candidates);
      }
    });
  }

  SignedDirection signed_direction(std::int64_t at, double sign,
                                   std::vector<ListedToken>& found) const {
    const double* direction = &request_.directions(at, 0);
    for (ListedToken& candidate : found) {
      candidate.token.score = sign * sum_over(candidate.row.size(), [&](std::size_t col) {
                                return static_cast<double>(candidate.row[col]) * direction[col];
                              });
    }
    std::sort(found.begin(), found.end(), [](const ListedToken& a, const ListedToken& b) {
      return a.token.score != b.token.score ? a.token.score > b.token.score
                                            : a.token.id < b.token.id;
    });
    SignedDirection out{.coherence = coherence(found)};
    found.resize(std::min(found.size(), static_cast<std::size_t>(request_.top)));
    const double length = std::sqrt(product(direction, direction, rows_.width()));
    for (ListedToken& candidate : found) {
      const double size = length_of(candidate.row) * length;
      candidate.token.cosine = size > 0 ? candidate.token.score / size : 0.0;
      out.tokens.push_back(candidate.token);
    }
    return out;
  }

  /// Statistics over all scores.
  void set_all_token_statistics(std::int64_t at, NamedDirection& out) const {
    const auto [group, place] = place_of(0, at);
    out.skewness = group.cubes(place);
    if (!rows_.knows_rarity()) return;
    // Raw scores: the scores without the axis plus the component along it.
    const CandidateRows::Axis& axis = rows_.axis();
    const double* direction = &request_.directions(at, 0);
    const double along = product(direction, axis.unit.data(), rows_.width());
    const double with_axis = product(direction, axis.times_rows.data(), rows_.width());
    const double raw =
        std::sqrt(group.squares(place) + 2 * along * with_axis + along * along * axis.squares);
    const double rarity = raw > 0 ? along * axis.length / raw : 0.0;
    out.signs[0].rarity = rarity;
    out.signs[1].rarity = -rarity;
  }

  Compute alone() const { return {.kernels = compute_.kernels, .stop = compute_.stop}; }

  const CandidateRequest& request_;
  const Compute& compute_;
  CandidateRows rows_;
  const std::int64_t listed_;
  std::vector<std::optional<ScoredDirections>>
      groups_;  // of the requested directions, then of random ones
};

}  // namespace

Matrix<double> random_directions(std::int64_t width) {
  std::mt19937_64 generator(0);
  std::normal_distribution<double> normal;
  Matrix<double> out(kRandomDirections, width);
  std::generate_n(out.data(), out.rows() * out.cols(), [&] { return normal(generator); });
  return out;
}

NamedDirections name_directions(const CandidateTokens& tokens, const RowsOfTokens& rows,
                                const CandidateRequest& request, const Compute& compute) {
  return Namer(tokens, rows, request, compute).run();
}

namespace {

/// Number of rows to multiply before their scores are examined, so that they stay in the cache.
constexpr std::int64_t kRows = 512;

constexpr auto kMost = static_cast<std::size_t>(ScoredDirections::kMost);
constexpr float kBeyond = std::numeric_limits<float>::infinity();

bool is_higher(const PositionedScore& a, const PositionedScore& b) {
  return a.score != b.score ? a.score > b.score : a.place < b.place;
}

/// For all kMost directions at once, without branches between them.
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

float HighestScores::add(PositionedScore score) {
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

std::vector<PositionedScore> HighestScores::sorted() const {
  std::vector<PositionedScore> out = kept_;
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
