// Random tokens that are repeated once: the input that shows induction heads.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attnscope/base/model_inputs.h"
#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/features/framework/arguments.h"
#include "attnscope/features/framework/selections.h"
#include "attnscope/model/model.h"

namespace attnscope {

/// Random tokens, then the same again: how much each head looks at what followed a token when it
/// was there before, and at where it was.
struct InductionRequest {
  static constexpr std::int64_t kUsualBlock = 50;

  std::int64_t sequences = 8;
  /// Tokens of each half. None: kUsualBlock, or as many as all models have the context for.
  std::optional<std::int64_t> block = {};
  std::uint64_t seed = 0;
  LayerSelection layers;
};
/// With a block. Throws Error(usage) if that is less than two tokens.
InductionRequest fitted(InductionRequest request, const ReadyModels& ready, std::size_t models);
/// Of a request with a block: ids drawn from the whole vocabulary, by a generator that C++ fixes to
/// the bit.
std::vector<TokenIds> repeated_tokens(const InductionRequest& request, std::int64_t vocabulary);

/// What the arguments of a command ask for that runs random tokens twice. Throws Error(usage).
InductionRequest induction_request(const Arguments& arguments);

/// Throws Error(unsupported) where random tokens twice over are no text for one of them: that reads
/// no tokens, or has a source with its target.
void check_repeats_tokens(const std::vector<Model>& models);

}  // namespace attnscope
