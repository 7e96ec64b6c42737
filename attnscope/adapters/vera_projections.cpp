#include "attnscope/adapters/vera_projections.h"

#include <cmath>
#include <random>

#include "attnscope/tensor/encode.h"

namespace attnscope {
namespace {

/// Kaiming uniform initialization of a matrix with that number of columns.
std::shared_ptr<const std::vector<std::byte>> kaiming_uniform(std::int64_t count, std::int64_t cols,
                                                              std::mt19937& random) {
  const double bound = std::sqrt(3.0) * (std::sqrt(2.0) / std::sqrt(static_cast<double>(cols)));
  const auto least = static_cast<float>(-bound), most = static_cast<float>(bound);
  constexpr std::uint32_t kMask = (1U << 24) - 1;
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(count));
  for (std::int64_t at = 0; at < count; ++at) {
    const double share = static_cast<double>(random() & kMask) * std::ldexp(1.0, -24);
    values.push_back(share * (most - least) + least);
  }
  return std::make_shared<const std::vector<std::byte>>(encode(values, DType::f32));
}

}  // namespace

VeraProjections vera_projections(std::int64_t rank, std::int64_t outputs, std::int64_t inputs,
                                 std::int64_t key) {
  std::mt19937 random(static_cast<std::uint32_t>(key));
  VeraProjections out;
  out.a = kaiming_uniform(rank * inputs, inputs, random);
  out.b = kaiming_uniform(outputs * rank, rank, random);
  return out;
}

}  // namespace attnscope
