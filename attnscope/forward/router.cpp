#include "attnscope/forward/router.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace attnscope {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

/// Computes the softmax in place. Values must be finite or −infinity.
void take_softmax(std::span<double> values) {
  const double largest = *std::max_element(values.begin(), values.end());
  double sum = 0;
  for (double& value : values) sum += value = std::exp(value - largest);
  for (double& value : values) value /= sum;
}

/// Routes one token at a time and reuses its buffers.
class RowRouter {
 public:
  RowRouter(const ExpertSpec& spec, std::span<const float> choice_bias)
      : spec_(spec), bias_(choice_bias) {}

  /// Returns whether a different choice has an equal score.
  bool route(std::span<const float> logits, std::span<std::int64_t> experts,
             std::span<float> weights) {
    scores_.assign(logits.begin(), logits.end());
    tied_ = false;
    if (spec_.score == RouterScore::sparsemixer) {
      mix_sparsely(experts, weights);
      return tied_;
    }
    if (spec_.score == RouterScore::softmax) take_softmax(scores_);
    if (spec_.score == RouterScore::sigmoid) {
      std::transform(scores_.begin(), scores_.end(), scores_.begin(), logistic);
    }
    merit_ = scores_;
    for (std::size_t expert = 0; expert < bias_.size(); ++expert) merit_[expert] += bias_[expert];
    if (spec_.kept_mlp_groups < spec_.groups) keep_best_groups();
    best_of(merit_, experts);
    weigh(experts, weights);
    return tied_;
  }

 private:
  /// Writes the indices of the largest values, in descending order.
  void best_of(const std::vector<double>& values, std::span<std::int64_t> best) {
    order_.resize(values.size());
    std::iota(order_.begin(), order_.end(), 0);
    const auto merit = [&](std::int64_t at) {
      const double value = values[static_cast<std::size_t>(at)];
      return std::isnan(value) ? kNever : value;
    };
    std::partial_sort(order_.begin(), order_.begin() + std::ssize(best), order_.end(),
                      [&](std::int64_t a, std::int64_t b) {
                        const double of_a = merit(a), of_b = merit(b);
                        return of_a != of_b ? of_a > of_b : a < b;
                      });
    std::copy_n(order_.begin(), best.size(), best.begin());
    const double last = merit(best.back());
    tied_ = tied_ || (last != kNever &&
                      std::any_of(order_.begin() + std::ssize(best), order_.end(),
                                  [&](std::int64_t other) { return merit(other) == last; }));
  }

  /// Excludes the experts of all other groups.
  void keep_best_groups() {
    const auto groups = static_cast<std::size_t>(spec_.groups);
    const std::size_t size = merit_.size() / groups;
    std::vector<double> merits;
    for (std::size_t group = 0; group < groups; ++group) {
      std::vector<double> own(merit_.begin() + static_cast<std::ptrdiff_t>(group * size),
                              merit_.begin() + static_cast<std::ptrdiff_t>((group + 1) * size));
      const bool two = spec_.group_score == GroupScore::sum_of_two_best;
      std::partial_sort(own.begin(), own.begin() + (two ? 2 : 1), own.end(), std::greater<>());
      merits.push_back(two ? own[0] + own[1] : own[0]);
    }
    std::vector<std::int64_t> kept(static_cast<std::size_t>(spec_.kept_mlp_groups));
    best_of(merits, kept);
    for (std::size_t group = 0; group < groups; ++group) {
      if (std::find(kept.begin(), kept.end(), static_cast<std::int64_t>(group)) != kept.end()) {
        continue;
      }
      std::fill_n(merit_.begin() + static_cast<std::ptrdiff_t>(group * size), size, kNever);
    }
  }

  void weigh(std::span<const std::int64_t> experts, std::span<float> weights) {
    std::vector<double> own;
    for (const std::int64_t expert : experts) {
      own.push_back(scores_[static_cast<std::size_t>(expert)]);
    }
    if (spec_.score == RouterScore::softmax_of_chosen) take_softmax(own);
    if (spec_.score == RouterScore::sigmoid_of_chosen) {
      std::transform(own.begin(), own.end(), own.begin(), logistic);
    }
    double divisor = 1;
    if (spec_.normalize) {
      const double sum = std::accumulate(own.begin(), own.end(), 0.0);
      divisor = std::max(sum + spec_.normalize_epsilon, spec_.normalize_least);
    }
    for (std::size_t at = 0; at < own.size(); ++at) {
      weights[at] = static_cast<float>(own[at] / divisor * spec_.times);
    }
  }

  void mix_sparsely(std::span<std::int64_t> experts, std::span<float> weights) {
    merit_ = scores_;
    for (std::size_t turn = 0; turn < experts.size(); ++turn) {
      best_of(merit_, experts.subspan(turn, 1));
      const auto best = static_cast<std::size_t>(experts[turn]);
      const double largest = merit_[best];
      double sum = 0;
      for (std::size_t at = 0; at < merit_.size(); ++at) {
        const double scale = std::max(std::abs(scores_[at]), largest);
        const bool far = (largest - scores_[at]) / scale > 2 * spec_.jitter;
        if (!far) sum += std::exp(merit_[at] - largest);
      }
      weights[turn] = static_cast<float>(1 / sum);
      merit_[best] = kNever;
    }
  }

  const ExpertSpec& spec_;
  std::span<const float> bias_;
  std::vector<double> scores_, merit_;
  std::vector<std::int64_t> order_;
  bool tied_ = false;
};

}  // namespace

ChosenExperts choose_experts(const ExpertSpec& spec, MatrixView<const float> logits,
                             std::span<const float> choice_bias, const Compute& compute) {
  const auto chosen = static_cast<std::size_t>(spec.chosen);
  const auto rows = static_cast<std::size_t>(logits.rows);
  ChosenExperts out{.chosen = spec.chosen,
                    .experts = std::vector<std::int64_t>(rows * chosen),
                    .weights = std::vector<float>(rows * chosen),
                    .tied = std::vector<std::uint8_t>(rows)};
  constexpr std::size_t kRowsOfPart = 64;
  run_parts(compute, (rows + kRowsOfPart - 1) / kRowsOfPart, [&](std::size_t part) {
    RowRouter router(spec, choice_bias);
    const std::size_t last = std::min(rows, (part + 1) * kRowsOfPart);
    for (std::size_t row = part * kRowsOfPart; row < last; ++row) {
      const bool tied = router.route(
          {&logits(static_cast<std::int64_t>(row), 0), static_cast<std::size_t>(logits.cols)},
          std::span(out.experts).subspan(row * chosen, chosen),
          std::span(out.weights).subspan(row * chosen, chosen));
      out.tied[row] = tied ? 1 : 0;
    }
  });
  return out;
}

}  // namespace attnscope
