// Lists skipped entries of a report; layers with similar reasons share a line.
#pragma once

#include <ostream>

#include "attnscope/rows/sink.h"

namespace attnscope {

/// "skipped: gpt2: q k v of layers 4–7: tensor 'h.4.attn.c_attn.weight' is missing, the first of
/// 4". Reasons are similar if they differ only in numbers and quoted names; only the first is
/// printed. Heads are named unless their whole matrix was skipped.
void write_skipped(const Report& report, std::ostream& out);

}  // namespace attnscope
