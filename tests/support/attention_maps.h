// Attention maps of every kind that may be difficult for a rank, with fixed seeds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/base/matrix_view.h"

namespace attnscope::test {

/// Softmax of q·k for independent normal q and k of `width` numbers, times `sharpness` divided by
/// the square root of the width. Optionally causal.
Matrix<float> softmax_map(std::int64_t tokens, std::int64_t width, double sharpness, bool causal,
                          std::uint64_t seed);

/// Every query attends to the last `band` keys up to its own, with more weight on closer keys.
Matrix<float> banded_map(std::int64_t tokens, std::int64_t band);

/// All weight on one key, or on the query's own position if the key comes later.
Matrix<float> one_column_map(std::int64_t tokens, std::int64_t column);

/// Equal weight on every key up to the query's own position.
Matrix<float> uniform_causal_map(std::int64_t tokens);

/// A mixture similar to trained heads: `sink` of the weight on key 0, `local` of it on a band, and
/// the rest from softmax_map.
Matrix<float> mixed_map(std::int64_t tokens, double sink, double local, double sharpness,
                        std::uint64_t seed);

struct NamedMap {
  std::string name;
  Matrix<float> map;
};

/// One or more of each of these, identity, low rank with noise, and maps that are not causal.
std::vector<NamedMap> maps_of_every_kind(std::int64_t tokens);

}  // namespace attnscope::test
