// Options and prompts that name one token: by its text, or by its id.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attnscope/inputs/text/tokenizer.h"

namespace attnscope {

/// What a text is as one token of a model. If it is none, `problem` says why.
struct OneToken {
  std::optional<std::int64_t> id;
  std::string problem;  // "'zz' is 2 tokens of gpt2, expected one: 'z' (id 89), 'z' (id 89)"
  std::string hint;
  std::string note;  // if the token has another text, such as a lower-case one; usually empty
};

/// The token of `text`: none if it has no token, several, or one that stands for unknown text.
/// `model` is the name that messages give.
OneToken one_token_of(const Tokenizer& tokenizer, const std::string& text,
                      const std::string& model);

/// The id in a text of nothing but digits.
std::optional<std::int64_t> id_of_digits(const std::string& text);

}  // namespace attnscope
