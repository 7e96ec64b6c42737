// A text as token ids.
#pragma once

#include <cstdint>
#include <vector>

namespace attnscope {

using TokenIds = std::vector<std::int64_t>;

}  // namespace attnscope
