// Dependence of induction heads on other heads, on random tokens that repeat. Heads are ablated in
// the whole model, or their output is removed from one input of a later head.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/base/role.h"
#include "attnscope/forward/forward_pass.h"

namespace attnscope {

/// Sequences of B tokens that are repeated once.
struct RepeatedText {
  std::vector<TokenIds> sequences;
  std::int64_t block = 0;  // B
};

/// Attention of a head from a repeated token to the token after its first occurrence, mean over
/// sequences: induction_score().
struct HeadInduction {
  std::int64_t layer = 0, head = 0;
  double induction = 0;
};

/// Effect of one head replaced by its mean over all positions of all sequences.
struct InductionEffect {
  std::int64_t head = 0;
  std::vector<double> loss;          // second half, summed over each sequence, nats
  std::vector<HeadInduction> later;  // all heads of later layers with attention
};

struct LayerInduction {
  std::int64_t predicted = 0;  // tokens per sequence: the second half without its first
  std::vector<double> loss;    // loss of the unmodified model, nats
  std::vector<HeadInduction> later;
  std::vector<InductionEffect> effects;  // one effect per head
};

/// Ablates each head of a layer separately. Throws like ForwardPass::run().
LayerInduction ablate_for_induction(const ForwardPass& pass, const RepeatedText& text,
                                    std::int64_t layer, const Compute& compute);

/// Direct-path ablation: the output of an earlier head minus its mean is subtracted from the query,
/// key or value input of one later head only. The norm before that input is recomputed.
struct PathEffect {
  std::int64_t layer = 0, head = 0;
  Role into = Role::query;  // query, key, value
  double induction = 0;     // induction score of the later head
  double write_change = 0;  // ‖changed − original‖ / ‖original‖ of the later head's output
};

struct PathsInto {
  double induction = 0;  // score of the unmodified later head
  std::vector<PathEffect> effects;
};

/// Ablates the direct path from every head of every earlier layer. Throws Error(unsupported) if a
/// norm follows the output of a layer's attention or MLP. Otherwise throws like ForwardPass::run().
/// `inputs`: of query, key and value, the inputs of the receiver to ablate, one at a time.
PathsInto ablate_paths_into(const ForwardPass& pass, const RepeatedText& text, std::int64_t layer,
                            std::int64_t head, std::span<const Role> inputs,
                            const Compute& compute);

}  // namespace attnscope
