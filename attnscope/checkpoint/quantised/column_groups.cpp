#include "attnscope/checkpoint/quantised/column_groups.h"

#include "attnscope/checkpoint/quantised/bit_packing.h"
#include "attnscope/core/error.h"
#include "attnscope/core/wording.h"

namespace attnscope {

void ColumnGroups::read(std::int64_t first, std::span<std::int64_t> out) const {
  for (std::size_t at = 0; at < out.size(); ++at) {
    const std::int64_t col = first + static_cast<std::int64_t>(at);
    if (!listed) {
      out[at] = col / columns_each;
      continue;
    }
    out[at] = static_cast<std::int32_t>(load_word(listed->bytes.data() + 4 * col));
    if (out[at] >= 0 && out[at] < count) continue;
    throw Error(
        ErrorKind::format,
        {.file = file,
         .tensor = tensor,
         .problem = "column " + std::to_string(col) + " is of group " + std::to_string(out[at]) +
                    (count == 1 ? ", and there is " : ", and there are ") +
                    counted(count, "group")});
  }
}

}  // namespace attnscope
