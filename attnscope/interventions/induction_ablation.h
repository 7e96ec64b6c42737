// Which heads the induction heads of a model live on: heads are taken away from a model that reads
// random tokens twice, or out of the inputs of one later head alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/base/role.h"
#include "attnscope/forward/forward_pass.h"

namespace attnscope {

/// Sequences of B tokens, then the same again.
struct RepeatedText {
  std::vector<TokenIds> sequences;
  std::int64_t block = 0;  // B
};

/// Of a head, its weight from a repeated token to the one after its first occurrence, mean over
/// sequences: induction_score().
struct HeadInduction {
  std::int64_t layer = 0, head = 0;
  double induction = 0;
};

/// One head replaced by its mean over all positions of all sequences.
struct InductionEffect {
  std::int64_t head = 0;
  std::vector<double> loss;          // of the second half, summed over each sequence, nats
  std::vector<HeadInduction> later;  // every head of every later layer that attends
};

struct LayerInduction {
  std::int64_t predicted = 0;  // tokens of each sequence: of the second half, all but its first
  std::vector<double> loss;    // of the model as it is
  std::vector<HeadInduction> later;
  std::vector<InductionEffect> effects;  // of each head
};

/// All heads of a layer, each alone. Throws as ForwardPass::run().
LayerInduction ablate_for_induction(const ForwardPass& pass, const RepeatedText& text,
                                    std::int64_t layer, const Compute& compute);

/// What an earlier head writes, but for its mean, taken out of what one head reads as its queries,
/// keys or values, and nothing else; the norm before it is computed anew.
struct PathEffect {
  std::int64_t layer = 0, head = 0;
  Role into = Role::query;  // query, key, value
  double induction = 0;     // of the later head
  double write_change = 0;  // ‖what it gives − what it gave‖ / ‖what it gave‖, of the later head
};

struct PathsInto {
  double induction = 0;  // of the later head as it is
  std::vector<PathEffect> effects;
};

/// Every head of every earlier layer. Throws Error(unsupported) where what layers add is normed
/// first, and as ForwardPass::run().
/// `inputs`: of query, key and value, those that paths are removed from.
PathsInto ablate_paths_into(const ForwardPass& pass, const RepeatedText& text, std::int64_t layer,
                            std::int64_t head, std::span<const Role> inputs,
                            const Compute& compute);

}  // namespace attnscope
