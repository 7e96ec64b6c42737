// Patched runs of some prompts, which share batches: a part of activation patching at positions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/key_value_cache.h"
#include "attnscope/interventions/patched_parts.h"
#include "attnscope/interventions/position_patching.h"
#include "attnscope/interventions/prompt_scores.h"

namespace attnscope {

/// Memory for the caches of runs that share a batch.
inline constexpr std::uint64_t kCacheBytes = std::uint64_t{512} << 20;

/// Whether runs may start at a token, with the keys and values of earlier tokens in a cache. Layers
/// that run elsewhere have no caches of several texts.
bool starts_at_tokens(const ForwardPass& pass);

/// Number of runs of texts of `room` tokens that may share a batch, as far as their caches fit into
/// memory.
std::int64_t patched_runs_at_once(const ForwardPass& pass, std::int64_t room);

/// A run with one activation of one prompt patched at one place.
struct PatchedRun {
  std::size_t prompt = 0, part = 0, place = 0;
};

/// Some prompts whose runs share batches.
struct PromptGroup {
  std::size_t first = 0, count = 0;
  std::vector<std::int64_t> starts;  // first row of each prompt
  std::int64_t rows = 0;
};

/// The unmodified runs of a group on its clean or its corrupted prompts.
struct GroupRun {
  std::span<const TokenIds> texts;
  LayerActivations kept;
  Matrix<float> states;
  std::vector<KeyValueCache> caches;  // empty if runs do not start at tokens
  std::vector<PromptScores::RowValues> values;
};

/// A direction of patching: activations of the runs `source` are patched into the runs `base`. All
/// must outlive the call.
struct GroupPatch {
  const ForwardPass& pass;
  const PositionPatchRequest& request;
  const PromptGroup& group;
  const PromptScores& scores;
  const GroupRun& base;
  const GroupRun& source;
  const Compute& compute;
};

/// Runs each part of each prompt at each place. Calls put(run, mean of its scored rows) in any
/// order. Throws like ForwardPass::run().
void patch_group(const GroupPatch& patch,
                 const std::function<void(const PatchedRun&, double)>& put);

}  // namespace attnscope
