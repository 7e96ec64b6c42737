// Options and prompts that name a single token by its text or id.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attnscope/inputs/text/tokenizer.h"

namespace attnscope {

/// A text as a single token of a model. If it is not a single token, `problem` states why.
struct OneToken {
  std::optional<std::int64_t> id;
  std::string problem;  // "'zz' is 2 tokens in gpt2, expected one token: 'z' (id 89), …"
  std::string hint;
  std::string note;  // if the token has another text, e.g. in lower case; usually empty
};

/// The token of `text`; none if the text has no token, several tokens, or only the unknown token.
/// `model`: the model name in messages.
OneToken one_token_of(const Tokenizer& tokenizer, const std::string& text,
                      const std::string& model);

/// The token id in a text that consists of digits only.
std::optional<std::int64_t> id_of_digits(const std::string& text);

}  // namespace attnscope
