// What was left out of a report, for people: a line for layers that lack the same for like reasons.
#pragma once

#include <ostream>

#include "attnscope/rows/sink.h"

namespace attnscope {

/// "skipped: gpt2: q k v of layers 4–7: tensor 'h.4.attn.c_attn.weight' is missing, the first of
/// 4". Reasons are alike where they differ in numbers and quoted names alone; the first of them is
/// said. Heads are named where their matrix as a whole was not skipped.
void write_skipped(const Report& report, std::ostream& out);

}  // namespace attnscope
