// Rotary positions: rotates pairs of a head's dimensions by an angle that grows with the position.
#pragma once

#include <cstdint>
#include <span>

#include "attnscope/base/heads.h"
#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// cos and sin of every position's angles, times a gain.
struct RotaryTable {
  Matrix<float> cos, sin;  // (T, pairs)
  RotaryPairs pairs = RotaryPairs::halves;
};

/// For positions first_position … first_position + tokens − 1: the angle of pair k at position t is
/// float32(t) · frequencies[k], rounded to float32 as in transformers (exact angles would change
/// logits by 1e-5 at T = 512); then cos and sin, each rounded once, times `gain` in float32.
RotaryTable make_rotary_table(std::span<const float> frequencies, float gain, RotaryPairs pairs,
                              std::int64_t first_position, std::int64_t tokens);

enum class Rotation { forward, backward };

/// Rotates each row t of x (T, d), one head, in place: the dimensions a, b of a pair become
/// a cos − b sin and b cos + a sin; backward, sin has the opposite sign. With n pairs, dimensions
/// from 2n on are unchanged. Rows are contiguous; 2n ≤ d.
void rotate(MatrixView<float> x, const RotaryTable& table, Rotation direction,
            const Compute& compute);

}  // namespace attnscope
