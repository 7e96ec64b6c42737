// Rotary position embeddings (RoPE): rotates pairs of a head's dimensions by an angle that grows
// with the position.
#pragma once

#include <cstdint>
#include <span>

#include "attnscope/base/heads.h"
#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// cos and sin of the angles of every position, times a gain.
struct RotaryTable {
  Matrix<float> cos, sin;  // (T, pairs)
  RotaryPairs pairs = RotaryPairs::halves;
};

/// Returns the table for positions first_position … first_position + tokens − 1. The angle of pair
/// k at position t is float32(t) · frequencies[k], rounded to float32 as in transformers. (Exact
/// angles would change logits by 1e-5 at T = 512.) cos and sin are each rounded once, then
/// multiplied by `gain` in float32.
RotaryTable make_rotary_table(std::span<const float> frequencies, float gain, RotaryPairs pairs,
                              std::int64_t first_position, std::int64_t tokens);

enum class Rotation { forward, backward };

/// Rotates each row t of x (T, d), one head, in place: dimensions a, b of a pair become a cos − b
/// sin and b cos + a sin. Rotation::backward uses the opposite angle. With n pairs, dimensions from
/// 2n on are unchanged. Requires contiguous rows and 2n ≤ d.
void rotate(MatrixView<float> x, const RotaryTable& table, Rotation direction,
            const Compute& compute);

}  // namespace attnscope
