// The descriptions of fields, for a page that knows no field of its own.
#pragma once

#include "attnscope/results/record.h"

namespace attnscope {

/// For each kind of row its fields: name, type, unit, heading, meaning, and where docs say more.
Record fields_list();

}  // namespace attnscope
