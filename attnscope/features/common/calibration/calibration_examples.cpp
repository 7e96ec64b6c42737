#include "attnscope/features/common/calibration/calibration_examples.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"

namespace attnscope {
namespace {

constexpr std::int64_t kAllWindows = std::int64_t{1} << 40;

std::int64_t count_tokens(const std::vector<TokenIds>& windows) {
  std::int64_t tokens = 0;
  for (const TokenIds& ids : windows) tokens += std::ssize(ids);
  return tokens;
}

/// Moves the windows from `first` on out of `all`.
ExampleWindows taken_from(ExampleWindows& all, std::ptrdiff_t first) {
  ExampleWindows rest;
  rest.windows.assign(all.windows.begin() + first, all.windows.end());
  all.windows.resize(static_cast<std::size_t>(first));
  if (all.scored.empty()) return rest;
  rest.scored.assign(all.scored.begin() + first, all.scored.end());
  all.scored.resize(static_cast<std::size_t>(first));
  return rest;
}

}  // namespace

void refuse_mask_of_two_files(const ScorePositions& positions, bool own_held_out) {
  if (!positions.is_mask() || !own_held_out) return;
  throw Error(ErrorKind::usage,
              {.parameter = "score_positions",
               .problem = "a mask covers one file, but {eval_file} is a second one",
               .hint = "pass positions, or omit {eval_file} to evaluate on the last tenth"});
}

void add_examples(const PlanExamples& examples, const ScorePositions& positions,
                  const PlanWindows& windows, std::int64_t length, std::int64_t tokens,
                  PlanText& text) {
  refuse_mask_of_two_files(positions, examples.held_out.has_value());
  const WindowRequest in_order{.sequences = kAllWindows, .length = length, .or_fewer = true};
  constexpr std::int64_t kLeast = 2;  // shorter examples have nothing to predict
  ExampleWindows all =
      windows_of_examples(examples.fitted, positions, in_order, examples.place, kLeast);
  ExampleWindows held;
  if (examples.held_out) {
    held = windows_of_examples(*examples.held_out, positions, in_order, examples.held_out_source,
                               kLeast);
  } else {
    // No example may be in both parts.
    const std::size_t fitted = examples.fitted.size() * 9 / 10;
    const auto first = std::lower_bound(all.examples.begin(), all.examples.end(), fitted);
    held = taken_from(all, first - all.examples.begin());
  }
  if (all.windows.empty() || held.windows.empty()) {
    throw Error(ErrorKind::usage, {.file = examples.place,
                                   .problem = counted(examples.fitted.size(), "example") +
                                              ": too few for calibration and evaluation"});
  }
  const std::int64_t count = std::ssize(all.windows);
  const std::int64_t mean = std::max<std::int64_t>(1, count_tokens(all.windows) / count);
  const std::vector<std::int64_t> chosen =
      window_starts(count,
                    {.sequences = windows.sequences.value_or((tokens + mean - 1) / mean),
                     .length = 1,
                     .sample = windows.sample,
                     .or_fewer = !windows.sequences.has_value()},
                    examples.place);
  for (const std::int64_t number : chosen) {
    const auto at = static_cast<std::size_t>(number);
    text.calibration.push_back(std::move(all.windows[at]));
    if (positions.given()) text.calibration_scored.push_back(std::move(all.scored[at]));
  }
  text.held_out = std::move(held.windows);
  text.held_out_scored = std::move(held.scored);
  for (const auto* scored : {&text.calibration_scored, &text.held_out_scored}) {
    check_scored(*scored, /*writes=*/!text.mask);
  }
}

}  // namespace attnscope
