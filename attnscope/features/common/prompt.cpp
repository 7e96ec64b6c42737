#include "attnscope/features/common/prompt.h"

namespace attnscope {

Value token_value(const Tokenizer* tokenizer, std::int64_t id) {
  if (tokenizer == nullptr || !tokenizer->spelling(id)) return {};
  return tokenizer->text(id);
}

void add_foretold(Record& row, const Tokenizer* tokenizer, const TokenScore& score) {
  row.add("token_id", score.token);
  row.add("text", token_value(tokenizer, score.token));
  row.add("logit", score.logit);
  row.add("probability", score.probability);
}

}  // namespace attnscope
