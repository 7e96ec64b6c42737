#include "attnscope/features/plan/method_comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/engine/system_memory.h"
#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/features/plan/rows.h"

namespace attnscope {
namespace {

/// The target that makes a plan of this choice.
std::string target_of(const Model& model, const Candidate& candidate) {
  const Choice& choice = candidate.choice;
  const Method method = choice.method;
  if (method->target != nullptr) return method->target(model, choice, candidate.size);
  return "set " + std::string(method->name) + "=" + std::to_string(choice.size);
}

std::vector<Candidate> compared_sizes(Planner& planner, Method method) {
  std::vector<Candidate> out;
  if (method->allocates_ranks()) {
    const std::int64_t whole = planner.ranks().parameters();
    for (const double share : kComparisonBudgets) {
      const auto budget = static_cast<std::int64_t>(share * static_cast<double>(whole));
      out.push_back(planner.measured(planner.at_budget(budget)));
      out.back().target = "keep " + shortest_decimal(share);
    }
    return out;
  }
  const std::vector<std::int64_t> sizes = planner.sizes(method);
  if (sizes.size() < 2) return out;
  // The smallest size comes first, because what it removes includes what the larger sizes remove.
  std::vector<std::int64_t> wanted = sizes_to_compare(sizes);
  std::reverse(wanted.begin(), wanted.end());
  for (const std::int64_t size : wanted) {
    out.push_back(planner.measured(planner.at_size(method, size)));
    out.back().target = target_of(planner.model(), out.back());
  }
  std::reverse(out.begin(), out.end());
  return out;
}

/// Lowest loss increase of a method per share of parameters or KV cache saved.
double price_of(const std::vector<Candidate>& candidates, const ModelSize& before, double nll) {
  double least = std::numeric_limits<double>::infinity();
  for (const Candidate& candidate : candidates) {
    const auto share = [](double after, double whole) { return whole > 0 ? 1 - after / whole : 0; };
    const double saved =
        std::max(share(static_cast<double>(candidate.size.parameters),
                       static_cast<double>(before.parameters)),
                 share(static_cast<double>(candidate.size.kv_cache_bytes_per_token),
                       static_cast<double>(before.kv_cache_bytes_per_token)));
    if (saved > 0) least = std::min(least, std::max(0.0, candidate.mean_nll - nll) / saved);
  }
  return least;
}

}  // namespace

std::vector<std::int64_t> sizes_to_compare(const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> out;
  for (const double share : {0.9, 0.75, 0.5}) {
    const double wanted = share * static_cast<double>(sizes.front());
    const auto nearest =
        std::min_element(sizes.begin() + 1, sizes.end(), [&](std::int64_t a, std::int64_t b) {
          return std::abs(static_cast<double>(a) - wanted) <
                 std::abs(static_cast<double>(b) - wanted);
        });
    if (nearest != sizes.end() && (out.empty() || out.back() != *nearest)) out.push_back(*nearest);
  }
  return out;
}

std::vector<Candidate> whole_comparison(Planner& planner, const std::vector<Method>& methods,
                                        std::vector<std::string>& notes) {
  // Methods whose savings work in standard runtimes come first; within each group, the cheapest
  // first.
  using Order = std::pair<bool, double>;
  std::vector<std::pair<Order, std::vector<Candidate>>> sorted;
  for (const Method method : methods) {
    trim_heap();
    std::vector<Candidate> own;
    try {
      own = compared_sizes(planner, method);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::numerical) throw;
      notes.push_back(std::string(method->name) + " is skipped: " + error.parts().problem);
      continue;
    }
    const double price = price_of(own, planner.size(), planner.nll_before(/*all=*/false));
    sorted.emplace_back(Order(!method->loadable, price), std::move(own));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Candidate> comparison;
  for (auto& [order, own] : sorted) comparison.insert(comparison.end(), own.begin(), own.end());
  return comparison;
}

}  // namespace attnscope
