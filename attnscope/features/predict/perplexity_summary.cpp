#include "attnscope/features/predict/perplexity_summary.h"

#include <cmath>
#include <numeric>

#include "attnscope/numerics/statistics/running_mean.h"

namespace attnscope {

Record perplexity_summary(std::int64_t tokens, std::span<const std::vector<double>> windows) {
  double sum = 0;
  std::vector<double> all;
  for (const std::vector<double>& losses : windows) {
    sum += std::accumulate(losses.begin(), losses.end(), 0.0);
    all.insert(all.end(), losses.begin(), losses.end());
  }
  const double mean = sum / static_cast<double>(all.size());
  const std::optional<double> error = block_standard_error(all);
  // By the delta method, since d exp(x) / dx = exp(x).
  const auto of_perplexity = error ? std::optional(*error * std::exp(mean)) : std::nullopt;
  return {{"tokens", tokens},
          {"predicted", std::ssize(all)},
          {"mean_nll", mean},
          {"mean_nll_error", error},
          {"perplexity", std::exp(mean)},
          {"perplexity_error", of_perplexity}};
}

}  // namespace attnscope
