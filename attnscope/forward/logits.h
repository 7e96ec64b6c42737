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

/// The same in the first rows of `room`, which grows where it is too small: fresh memory for each
/// block would cost a tenth of its product. `capped`: as logits_into().
MatrixView<const float> finite_logits(const ForwardPass& pass, MatrixView<const float> states,
                                      Matrix<float>& room, const Compute& compute,
                                      bool capped = true);

/// How many rows of logits are held at once: of at most 64 MB, and one at least.
std::int64_t rows_of_logits(const ForwardPass& pass);

/// Calls use() with the finite_logits() of every row in turn, in blocks of
/// rows_of_logits(); `first`: the row of `states` that a block begins with.
void for_logits(const ForwardPass& pass, MatrixView<const float> states,
                const std::function<void(std::int64_t first, MatrixView<const float>)>& use,
                const Compute& compute, bool capped = true);

}  // namespace attnscope
