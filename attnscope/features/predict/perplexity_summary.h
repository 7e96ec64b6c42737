// What a model's report says of the perplexity of a whole text.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/rows/record.h"

namespace attnscope {

/// Mean and perplexity of the losses of windows, in the order of the text, with block errors; all
/// windows together have a loss.
Record perplexity_summary(std::int64_t tokens, std::span<const std::vector<double>> windows);

}  // namespace attnscope
