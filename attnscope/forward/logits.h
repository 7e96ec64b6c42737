// Logits of many rows, a block at a time: a vocabulary times a text is too large to hold.
#pragma once

#include <cstdint>
#include <functional>

#include "attnscope/forward/forward_pass.h"

namespace attnscope {

/// Logits of rows of run()'s result. Throws Error(numerical) where one is not finite, and as
/// ForwardPass::logits().
Matrix<float> finite_logits(const ForwardPass& pass, MatrixView<const float> states,
                            const Compute& compute);

/// Calls use() with the finite_logits() of every row in turn, in blocks of at most 64 MB or one
/// row; `first`: the row of `states` that a block begins with.
void for_logits(const ForwardPass& pass, MatrixView<const float> states,
                const std::function<void(std::int64_t first, MatrixView<const float>)>& use,
                const Compute& compute);

}  // namespace attnscope
