// Compares all methods that a model allows, each at a few sizes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/features/plan/search.h"

namespace attnscope {

/// Parameter budgets of low-rank factors in a comparison, as shares of the projection parameters.
inline constexpr double kComparisonBudgets[] = {0.9, 0.75, 0.5};

/// The sizes nearest to 0.9, 0.75 and 0.5 of the original size. `sizes`: all possible sizes, the
/// original first.
std::vector<std::int64_t> sizes_to_compare(const std::vector<std::int64_t>& sizes);

/// Measures all these methods and returns the cheapest first. Methods whose models give NaN are
/// skipped with a note.
std::vector<Candidate> whole_comparison(Planner& planner, const std::vector<Method>& methods,
                                        std::vector<std::string>& notes);

}  // namespace attnscope
