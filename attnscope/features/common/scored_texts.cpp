#include "attnscope/features/common/scored_texts.h"

#include <algorithm>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/inputs/text/token_windows.h"

namespace attnscope {

void check_predicts_tokens(const ForwardPass& pass, const std::vector<TokenIds>& sequences,
                           const MaskToken& mask, const std::vector<TokenIds>& sources) {
  const Model& model = pass.model();
  if (pass.reads_images() || pass.reads_audio()) {
    throw Error(ErrorKind::unsupported,
                {.file = model.checkpoint().main_file().string(),
                 .problem = "does not take text, so it cannot predict tokens"});
  }
  if (pass.encoder() != nullptr && sources.empty()) throw needs_source(model);
  pass.check_head();
  if (!pass.no_logits().empty()) {
    throw Error(ErrorKind::unsupported, {.file = model.checkpoint().main_file().string(),
                                         .problem = "no logits: " + verbatim(pass.no_logits())});
  }
  if (!model.spec().causal && !mask) {
    throw Error(ErrorKind::unsupported,
                {.file = model.checkpoint().main_file().string(),
                 .problem = "is bidirectional and predicts masked tokens, but its tokenizer has "
                            "no mask token"});
  }
  for (const TokenIds& sequence : sequences) {
    if (std::ssize(sequence) < 2) {
      throw Error(ErrorKind::usage,
                  {.problem = "nothing to predict: a text of " +
                              counted(std::ssize(sequence), "token") + " has no next token"});
    }
    const bool is_target = !sources.empty();  // the last token of a target is not an input
    TokenIds input = sequence;
    if (is_target) input.pop_back();
    pass.check(input);
    // The LM head may have fewer tokens than the embedding.
    check_token_ids(sequence, std::min(pass.vocabulary(), pass.logits_width()), model.name());
  }
  for (const TokenIds& source : sources) pass.encoder()->check(source);
}

void add_mask_parameter(WorkItem& item, const MaskToken& mask) {
  item.parameters.add("mask", mask);
}

MaskToken mask_parameter(const WorkItem& item) {
  const Value* mask = item.parameters.find("mask");
  if (mask == nullptr || mask->is_null()) return {};
  return expect<std::int64_t>(*mask, "mask");
}

ScoredPositions scored_positions(const WorkItem& item) {
  const SequenceBatch& batch = *item.batch;
  const MaskToken mask = mask_parameter(item);
  if (batch.sources.empty() && mask) {
    return masked_tokens(batch.tokens, *mask, batch.first, kMaskSeed, batch.scored);
  }
  ScoredPositions all = batch.sources.empty() ? next_tokens(batch.tokens)
                                              : target_tokens(batch.tokens, batch.sources);
  return batch.scored.empty() ? all : select_scored_positions(std::move(all), batch.scored);
}

}  // namespace attnscope
