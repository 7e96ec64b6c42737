#include "attnscope/features/ablate/patching_options.h"

#include <algorithm>
#include <array>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/ablate/metric_effects.h"

namespace attnscope {
namespace {

constexpr std::array kPatchingNames = {"patch_positions", "metric", "patching"};
constexpr std::array kPathNames = {"sender", "through_mlps", "freeze_norms"};
constexpr std::array kPatchedOnly = {"resid_pre", "q", "k", "v"};

[[noreturn]] void refuse_places(const std::string& problem, const std::string& hint = "") {
  throw Error(ErrorKind::usage, {.parameter = "patch_positions", .problem = problem, .hint = hint});
}

bool same_lengths(const std::vector<TokenIds>& prompts) {
  return std::ranges::all_of(
      prompts, [&](const TokenIds& ids) { return ids.size() == prompts.front().size(); });
}

/// One place per label of the prompt file, in the order of the first prompt.
std::vector<NamedPlace> labeled_places(const std::vector<PromptLabels>& labels) {
  std::vector<NamedPlace> out;
  for (const auto& [label, positions] : labels.front()) {
    NamedPlace& place = out.emplace_back();
    place.label = label;
    for (const PromptLabels& own : labels) place.rows.push_back(own.at(label));
  }
  std::ranges::stable_sort(out, [](const NamedPlace& a, const NamedPlace& b) {
    return a.rows.front() < b.rows.front();
  });
  return out;
}

/// The selected positions. Those of prompts of different lengths correspond if they are counted
/// from the same end.
std::vector<NamedPlace> selected_places(const std::vector<PositionRange>& ranges,
                                        const std::string& selection,
                                        const std::vector<TokenIds>& prompts) {
  std::vector<Positions> of_prompts;
  for (const TokenIds& ids : prompts) {
    for (const PositionRange& range : ranges) {
      if (!positions_of({range}, std::ssize(ids)).empty()) continue;
      refuse_places("'" + verbatim(selection) + "' has a position past the end of a prompt of " +
                    counted(ids.size(), "token"));
    }
    of_prompts.push_back(positions_of(ranges, std::ssize(ids)));
  }
  std::vector<NamedPlace> out;
  const std::int64_t length = std::ssize(prompts.front());
  for (std::size_t at = 0; at < of_prompts.front().size(); ++at) {
    NamedPlace& place = out.emplace_back();
    const std::int64_t first = of_prompts.front()[at];
    bool from_start = true, from_end = true;
    for (std::size_t prompt = 0; prompt < prompts.size(); ++prompt) {
      const Positions& own = of_prompts[prompt];
      if (own.size() != of_prompts.front().size()) from_start = from_end = false;
      if (!from_start && !from_end) break;
      from_start &= own[at] == first;
      from_end &= std::ssize(prompts[prompt]) - own[at] == length - first;
      place.rows.push_back({own[at]});
    }
    if (!from_start && !from_end) {
      refuse_places("the prompts differ in length, so '" + verbatim(selection) +
                        "' selects positions that do not correspond",
                    "name the tokens of each prompt with 'positions' in the prompt file");
    }
    place.position = from_start ? first : first - length;
  }
  return out;
}

}  // namespace

Parameters patching_parameters() {
  using enum ParameterType;
  return {
      {.name = "patch_positions",
       .type = text,
       .help = "with {prompts}: patch each position separately (each), selected positions "
               "(last, 3,7, -3-), or all positions together (all)",
       .metavariable = "POSITIONS"},
      {.name = "metric",
       .type = choice,
       .help = "with {prompts}: what patching changes: logit(correct) − logit(incorrect), the "
               "probability of the correct answer, KL(clean ‖ run), or the loss",
       .metavariable = "METRIC",
       .choices = {"logit-difference", "probability", "kl", "loss"},
       .default_text = "logit-difference"},
      {.name = "patching",
       .type = choice,
       .help = "with {patch_positions} or {metric}: patch clean activations into corrupted runs "
               "(denoising), corrupted ones into clean runs (noising), or both",
       .metavariable = "DIRECTION",
       .choices = {"both", "denoising", "noising"},
       .default_text = "both"}};
}

bool asks_for_patching(const Arguments& arguments) {
  return std::ranges::any_of(kPatchingNames,
                             [&](const char* name) { return arguments.given(name); }) ||
         std::ranges::any_of(arguments.texts("components"), [](const std::string& kind) {
           return std::ranges::find(kPatchedOnly, kind) != kPatchedOnly.end();
         });
}

void refuse_patching_without_prompts(const Arguments& arguments) {
  for (const std::span<const char* const> names :
       {std::span(kPatchingNames), std::span(kPathNames)}) {
    for (const char* name : names) {
      if (!arguments.given(name)) continue;
      throw Error(ErrorKind::usage, {.parameter = name, .problem = "requires {prompts}"});
    }
  }
  if (!asks_for_patching(arguments)) return;
  throw Error(ErrorKind::usage,
              {.parameter = "components", .problem = "resid_pre, q, k and v require {prompts}"});
}

std::vector<NamedPlace> patched_places(const std::string& selection,
                                       const std::vector<TokenIds>& prompts,
                                       const std::vector<PromptLabels>& labels) {
  if (selection == "all") {
    NamedPlace all;
    for (const TokenIds& ids : prompts) {
      all.rows.push_back(positions_of({{0, -1}}, std::ssize(ids)));
    }
    return {all};
  }
  if (selection == "each") {
    if (!labels.empty()) return labeled_places(labels);
    if (same_lengths(prompts)) return selected_places({{0, -1}}, selection, prompts);
    refuse_places("the prompts differ in length, so their positions do not correspond",
                  "name the tokens of each prompt with 'positions' in the prompt file, or select "
                  "positions from one end, such as -3-");
  }
  const auto ranges = parse_position_ranges(selection);
  if (!ranges || ranges->empty()) {
    refuse_places("'" + verbatim(selection) + "' is not a list of positions",
                  "for example: each, all, last, 3,7 or -3-");
  }
  return selected_places(*ranges, selection, prompts);
}

PromptMeasure prompt_measure(PromptMetric metric, const ScorePositions& scored,
                             const std::vector<TokenIds>& prompts) {
  PromptMeasure out{.metric = metric, .rows = {}};
  const auto tokens_of = [&](std::size_t prompt) { return std::ssize(prompts[prompt]) + 1; };
  if (scored.given()) scored.check_examples(prompts.size(), prompts.size(), tokens_of);
  const bool of_answer =
      metric == PromptMetric::logit_difference || metric == PromptMetric::probability;
  for (std::size_t prompt = 0; prompt < prompts.size(); ++prompt) {
    const std::int64_t last = std::ssize(prompts[prompt]) - 1;
    Positions& rows = out.rows.emplace_back();
    if (!scored.given()) {
      rows = {last};
      continue;
    }
    const TokenIds flags = scored.of(prompt, tokens_of(prompt));
    for (std::int64_t row = 0; row <= last; ++row) {
      if (flags[static_cast<std::size_t>(row + 1)] != 0) rows.push_back(row);
    }
    const auto refuse = [](const std::string& problem) {
      throw Error(ErrorKind::usage, {.parameter = "score_positions", .problem = problem});
    };
    if (rows.empty())
      refuse("selects no predicted token of a prompt; position 0 is never predicted");
    if (of_answer && rows != Positions{last}) {
      refuse("this {metric} is defined for the answer alone, the last position");
    }
  }
  return out;
}

}  // namespace attnscope
