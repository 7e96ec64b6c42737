// The menu of a plan: each form that a model allows, at a few sizes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/features/plan/search.h"

namespace attnscope {

/// Shares of the projections' parameters that ranks have in a menu.
inline constexpr double kMenuBudgets[] = {0.9, 0.75, 0.5};

/// Those at 0.9, 0.75 and 0.5 of what a form cuts. `sizes`: all that it has, the whole first.
std::vector<std::int64_t> menu_sizes(const std::vector<std::int64_t>& sizes);

/// Of all these forms, the cheapest first. Those whose models give NaN are left out, with a note.
std::vector<Candidate> whole_menu(Planner& planner, const std::vector<Form>& forms,
                                  std::vector<std::string>& notes);

}  // namespace attnscope
