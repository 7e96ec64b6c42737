// The descriptions of fields, which the page reads instead of having its own.
#pragma once

#include "attnscope/rows/record.h"

namespace attnscope {

/// For each kind of row, its fields: name, type, unit, heading, meaning, and their place in docs.
/// Fields inside records have paths ("kv.energy_rank").
Record fields_list();

}  // namespace attnscope
