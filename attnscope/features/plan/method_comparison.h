// The menu of a plan: each method that a model allows, at a few sizes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/features/plan/search.h"

namespace attnscope {

/// Shares of the projections' parameters that low-rank factors have in a menu.
inline constexpr double kComparisonBudgets[] = {0.9, 0.75, 0.5};

/// Those at 0.9, 0.75 and 0.5 of what a method cuts. `sizes`: all that it has, the whole first.
std::vector<std::int64_t> sizes_to_compare(const std::vector<std::int64_t>& sizes);

/// Of all these methods, the cheapest first. Those whose models give NaN are left out, with a note.
std::vector<Candidate> whole_comparison(Planner& planner, const std::vector<Method>& methods,
                                        std::vector<std::string>& notes);

}  // namespace attnscope
