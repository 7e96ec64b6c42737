// Attention maps of every kind that a rank could stumble over, seeded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/base/matrix_view.h"

namespace attnscope::test {

/// Softmax of q·k with independent normal q and k of `width` numbers, times `sharpness` over the
/// root of the width; decoders' maps where causal.
Matrix<float> softmax_map(std::int64_t tokens, std::int64_t width, double sharpness, bool causal,
                          std::uint64_t seed);

/// Every query looks at the `band` keys up to its own, the more the nearer.
Matrix<float> banded_map(std::int64_t tokens, std::int64_t band);

/// All weight on one key; up to itself, where the query comes before it.
Matrix<float> one_column_map(std::int64_t tokens, std::int64_t column);

/// Equal weight on every key up to the query's own.
Matrix<float> uniform_causal_map(std::int64_t tokens);

/// What trained heads mix: `sink` of the weight on key 0, `local` of it on a band, the rest as
/// softmax_map has it.
Matrix<float> mixed_map(std::int64_t tokens, double sink, double local, double sharpness,
                        std::uint64_t seed);

struct NamedMap {
  std::string name;
  Matrix<float> map;
};

/// One or more of each of these, identity, low rank with noise, and maps that are not causal.
std::vector<NamedMap> maps_of_every_kind(std::int64_t tokens);

}  // namespace attnscope::test
