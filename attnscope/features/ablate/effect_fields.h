// Fields of effects on clean and corrupted prompts.
#pragma once

#include <vector>

#include "attnscope/rows/field.h"

namespace attnscope {

/// Shares of the gap, unscaled changes, their errors, the unmodified means and the number of
/// prompts.
std::vector<Field> effect_fields();

/// Adds intervals, p-values and significance of both directions, and the number of tests.
void add_certainty_fields(RowKind& kind);

}  // namespace attnscope
