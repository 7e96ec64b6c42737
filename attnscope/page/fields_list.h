// The descriptions of fields, for a page that knows no field of its own.
#pragma once

#include "attnscope/results/record.h"

namespace attnscope {

/// For each kind of row its fields, those inside records by their paths ("kv.energy_rank"): name, type, unit, heading, meaning, and where docs say more.
Record fields_list();

}  // namespace attnscope
