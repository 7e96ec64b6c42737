// A line for each layer with a cell for its attention, its MLP and each of its heads: of rows with
// `layer`, `head` and `component`.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/output/terminal.h"
#include "attnscope/results/report.h"

namespace attnscope {

using PartCell = std::function<std::string(const Record&)>;

/// In several blocks where they are wider than `width`.
std::string part_grid(const std::vector<const Record*>& rows, const PartCell& cell,
                      const Style& style, int width);

/// "L3H2", "mlp 3".
std::string part_title(const Record& row);

}  // namespace attnscope
