#include "attnscope/features/common/repeated_tokens.h"

#include <algorithm>
#include <random>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/common/options/target_stacks.h"
#include "attnscope/features/common/options/text_options.h"
#include "attnscope/features/common/options/token_sequences.h"
#include "attnscope/features/common/text_length.h"
#include "attnscope/forward/forward_pass.h"

namespace attnscope {

InductionRequest fitted(InductionRequest request, const ReadyModels& ready, std::size_t models) {
  if (request.block) return request;
  request.block = InductionRequest::kUsualBlock;
  for (std::size_t index = 0; index < models; ++index) {
    const ForwardPass& pass = ready.pass(index);
    request.block = std::min(*request.block, context_of(pass) / 2);
    if (*request.block >= 2) continue;
    throw Error(ErrorKind::usage,
                {.parameter = "induction",
                 .problem = verbatim(pass.model().name()) + " has a context of " +
                            counted(context_of(pass), "token") + ", expected at least 4"});
  }
  return request;
}

std::vector<TokenIds> repeated_tokens(const InductionRequest& request, std::int64_t vocabulary) {
  std::mt19937_64 generator(request.seed);
  std::vector<TokenIds> sequences;
  for (std::int64_t number = 0; number < request.sequences; ++number) {
    TokenIds ids;
    for (std::int64_t at = 0; at < *request.block; ++at) {
      ids.push_back(
          static_cast<std::int64_t>(generator() % static_cast<std::uint64_t>(vocabulary)));
    }
    ids.insert(ids.end(), ids.begin(), ids.begin() + *request.block);
    sequences.push_back(std::move(ids));
  }
  return sequences;
}

void check_repeats_tokens(const std::vector<Model>& models) {
  for (const Model& model : models) {
    if (model.spec().stream.embedding.tokens.empty()) {
      throw Error(ErrorKind::unsupported, {.parameter = "induction",
                                           .problem = "requires token inputs, which " +
                                                      verbatim(model.name()) + " does not have"});
    }
    if (!needs_target(model)) continue;
    throw Error(ErrorKind::unsupported,
                {.parameter = "induction",
                 .problem = "does not support decoders of encoder-decoder models: " +
                            verbatim(model.name()) + " needs a source and a target",
                 .hint = "pass {stack} encoder to analyze its encoder"});
  }
}

InductionRequest induction_request(const Arguments& arguments) {
  InductionRequest request{.layers = arguments.layers("layers")};
  request.sequences = arguments.integer("sequences").value_or(request.sequences);
  request.seed = static_cast<std::uint64_t>(arguments.integer("seed").value_or(0));
  if (const auto length = arguments.integer("length")) {
    if (*length < 4 || *length % 2 != 0) {
      throw Error(ErrorKind::usage, {.parameter = "length",
                                     .problem = "must be even and at least 4 for repeated tokens"});
    }
    request.block = *length / 2;
  }
  check_token_count(request.sequences, 2 * request.block.value_or(InductionRequest::kUsualBlock));
  return request;
}

}  // namespace attnscope
