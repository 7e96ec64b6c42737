// Random tokens repeated twice: the input that reveals induction heads.
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

/// A run on random tokens repeated twice, which measures the induction and duplicate-token scores
/// of each head.
struct InductionRequest {
  static constexpr std::int64_t kUsualBlock = 50;

  std::int64_t sequences = 8;
  /// Number of tokens of each half. Empty: kUsualBlock, or as many as fit into the contexts of all
  /// models.
  std::optional<std::int64_t> block = {};
  std::uint64_t seed = 0;
  LayerSelection layers;
};
/// Sets the block if it is empty. Throws Error(usage) if that is less than two tokens.
InductionRequest fitted(InductionRequest request, const ReadyModels& ready, std::size_t models);
/// Draws ids from the whole vocabulary, for a request with a block. The generator's output is
/// specified by the C++ standard, so results are reproducible.
std::vector<TokenIds> repeated_tokens(const InductionRequest& request, std::int64_t vocabulary);

/// The request of a command that runs random tokens repeated twice. Throws Error(usage).
InductionRequest induction_request(const Arguments& arguments);

/// Throws Error(unsupported) if a model does not take tokens, or needs both a source and a target.
void check_repeats_tokens(const std::vector<Model>& models);

}  // namespace attnscope
