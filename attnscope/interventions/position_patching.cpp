#include "attnscope/interventions/position_patching.h"

#include <algorithm>

#include "attnscope/forward/key_value_cache.h"
#include "attnscope/forward/layers_elsewhere.h"
#include "attnscope/interventions/patch_group.h"

namespace attnscope {
namespace {

std::vector<PromptGroup> groups_of(const std::vector<TokenIds>& texts, std::size_t most,
                                   std::int64_t rows) {
  const std::size_t groups = (texts.size() + most - 1) / most;
  most = (texts.size() + groups - 1) / groups;  // of about equal size
  std::vector<PromptGroup> out;
  for (std::size_t at = 0; at < texts.size(); ++at) {
    const std::int64_t tokens = std::ssize(texts[at]);
    if (out.empty() || out.back().count == most || out.back().rows + tokens > rows) {
      out.push_back({.first = at});
    }
    out.back().starts.push_back(out.back().rows);
    out.back().rows += tokens;
    ++out.back().count;
  }
  return out;
}

std::int64_t longest_of(const std::vector<TokenIds>& texts) {
  std::int64_t longest = 0;
  for (const TokenIds& text : texts) longest = std::max(longest, std::ssize(text));
  return longest;
}

/// Prompts whose runs share batches: so many that one place gives full batches.
std::size_t prompts_at_once(const ForwardPass& pass, const AnsweredPrompts& prompts,
                            std::size_t parts) {
  const std::int64_t together = patched_runs_at_once(pass, longest_of(prompts.clean));
  return std::max<std::size_t>(
      1, static_cast<std::size_t>(together) / std::max<std::size_t>(1, parts));
}

GroupRun run_group(const ForwardPass& pass, std::span<const TokenIds> texts,
                   const PositionPatchRequest& request, const Compute& compute) {
  GroupRun out{.texts = texts, .kept = {.layer = request.layer}};
  if (starts_at_tokens(pass)) {
    std::int64_t room = 0;
    for (const TokenIds& text : texts) room = std::max(room, std::ssize(text));
    for (std::size_t at = 0; at < texts.size(); ++at) {
      out.caches.emplace_back(pass.model().spec(), room);
    }
  }
  out.states = run_keeping(pass, texts, request.parts, out.kept, compute, out.caches);
  return out;
}

void append_means(std::vector<double>& out, const std::vector<PromptScores::RowValues>& values) {
  for (const PromptScores::RowValues& own : values) out.push_back(mean_of(own));
}

}  // namespace

PositionPatch patch_positions(const ForwardPass& pass, const AnsweredPrompts& prompts,
                              const PositionPatchRequest& request, const Compute& compute) {
  const std::size_t places = request.places.size();
  PositionPatch out;
  out.effects.resize(request.parts.size() * places);
  for (PositionPatchEffect& effect : out.effects) {
    if (request.directions.denoising) effect.denoised.resize(prompts.clean.size());
    if (request.directions.noising) effect.noised.resize(prompts.clean.size());
  }
  for (const PromptGroup& group :
       groups_of(prompts.clean, prompts_at_once(pass, prompts, request.parts.size()),
                 rows_at_once(pass.model()))) {
    PromptScores scores(pass, prompts, request.measure, group.first, group.count, compute);
    const auto run = [&](const std::vector<TokenIds>& texts) {
      return run_group(pass, std::span(texts).subspan(group.first, group.count), request, compute);
    };
    GroupRun clean = run(prompts.clean), corrupted = run(prompts.corrupted);
    scores.set_clean(clean.states.view());
    clean.values = scores.of_all(clean.states.view());
    corrupted.values = scores.of_all(corrupted.states.view());
    append_means(out.clean, clean.values);
    append_means(out.corrupted, corrupted.values);
    const auto patch = [&](const GroupRun& base, const GroupRun& source,
                           std::vector<double> PositionPatchEffect::*values) {
      patch_group({pass, request, group, scores, base, source, compute},
                  [&](const PatchedRun& patched, double value) {
                    const std::size_t at = patched.part * places + patched.place;
                    (out.effects[at].*values)[group.first + patched.prompt] = value;
                  });
    };
    if (request.directions.denoising) patch(corrupted, clean, &PositionPatchEffect::denoised);
    if (request.directions.noising) patch(clean, corrupted, &PositionPatchEffect::noised);
  }
  return out;
}

double position_patch_runs(const ForwardPass& pass, const AnsweredPrompts& prompts,
                           const PositionPatchRequest& request) {
  double rows = 0, patched = 0;
  for (std::size_t prompt = 0; prompt < prompts.clean.size(); ++prompt) {
    const std::int64_t tokens = std::ssize(prompts.clean[prompt]);
    rows += static_cast<double>(tokens);
    for (const PatchedPlace& place : request.places) {
      const std::int64_t first = starts_at_tokens(pass) ? place[prompt].front() : 0;
      patched += static_cast<double>(tokens - first);
    }
  }
  const auto layers = static_cast<double>(pass.model().dimensions().layers);
  const double above =
      pass.may_start_between() ? layers - static_cast<double>(request.layer) : layers;
  const int directions =
      (request.directions.denoising ? 1 : 0) + (request.directions.noising ? 1 : 0);
  return 2 +
         directions * static_cast<double>(request.parts.size()) * (above / layers) * patched / rows;
}

std::uint64_t position_patch_bytes(const ForwardPass& pass, const AnsweredPrompts& prompts,
                                   const PositionPatchRequest& request) {
  const ModelSpec& spec = pass.model().spec();
  const std::int64_t longest = longest_of(prompts.clean);
  const std::size_t together = prompts_at_once(pass, prompts, request.parts.size());
  const auto group = static_cast<std::uint64_t>(std::min(together, prompts.clean.size()));
  const auto tokens = static_cast<std::uint64_t>(longest);
  const auto width = static_cast<std::uint64_t>(largest_dimensions(spec).width);
  const std::uint64_t kept = sizeof(float) * group * tokens * width * (request.parts.size() + 12);
  const std::uint64_t caches =
      starts_at_tokens(pass) ? 2 * kCacheBytes + 2 * group * KeyValueCache::bytes(spec, longest)
                             : 0;
  constexpr std::uint64_t kLogits = std::uint64_t{4} * (64 << 20);
  const std::int64_t most = rows_at_once(pass.model());
  return run_bytes(spec, std::max<std::int64_t>(1, most / longest), longest) + kept + caches +
         kLogits;
}

}  // namespace attnscope
