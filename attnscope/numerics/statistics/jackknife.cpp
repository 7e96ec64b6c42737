#include "attnscope/numerics/statistics/jackknife.h"

#include <cmath>
#include <numeric>
#include <vector>

namespace attnscope {

MeanWithError jackknife_ratio(std::span<const double> parts, std::span<const double> wholes) {
  const double part = std::accumulate(parts.begin(), parts.end(), 0.0);
  const double whole = std::accumulate(wholes.begin(), wholes.end(), 0.0);
  if (whole == 0) return {};
  MeanWithError out{.mean = part / whole, .standard_error = {}};
  const std::size_t count = parts.size();
  if (count < 2) return out;
  std::vector<double> omitted;
  double mean = 0;
  for (std::size_t at = 0; at < count; ++at) {
    const double rest = whole - wholes[at];
    if (rest == 0) return out;
    omitted.push_back((part - parts[at]) / rest);
    mean += omitted.back() / static_cast<double>(count);
  }
  double squares = 0;
  for (const double ratio : omitted) squares += (ratio - mean) * (ratio - mean);
  out.standard_error =
      std::sqrt(squares * static_cast<double>(count - 1) / static_cast<double>(count));
  return out;
}

}  // namespace attnscope
