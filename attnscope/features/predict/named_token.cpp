#include "attnscope/features/predict/named_token.h"

#include <string>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/common/options/one_token.h"
#include "attnscope/features/common/options/text_options.h"

namespace attnscope {

std::optional<std::int64_t> named_token(const Arguments& arguments, const char* parameter,
                                        const Model& model, const Tokenizer* tokenizer,
                                        RowSink& sink) {
  if (!arguments.given(parameter)) return {};
  const std::string text = arguments.text(parameter);
  if (const auto id = id_of_digits(text)) {
    const auto vocabulary = model.dimensions().vocabulary;
    if (vocabulary && *id >= *vocabulary) {
      throw Error(ErrorKind::usage,
                  {.parameter = parameter,
                   .problem = "token id " + text + " is not in the vocabulary of " +
                              verbatim(model.name()) + ", expected 0 to " +
                              std::to_string(*vocabulary - 1)});
    }
    const auto other = tokenizer == nullptr ? std::nullopt : one_token_of(*tokenizer, text, "").id;
    if (other && other != id) {
      sink.add_note("{" + std::string(parameter) + "} " + text +
                    " is used as a token id; the text "
                    "'" +
                    text + "' has id " + std::to_string(*other));
    }
    return id;
  }
  std::optional<Tokenizer> own;
  if (tokenizer == nullptr) tokenizer = &own.emplace(tokenizer_of(model));
  const OneToken found = one_token_of(*tokenizer, text, model.name());
  if (!found.id) {
    throw Error(ErrorKind::usage, {.parameter = parameter,
                                   .problem = verbatim(found.problem),
                                   .hint = found.hint.empty() ? "or pass a token id" : found.hint});
  }
  if (!found.note.empty())
    sink.add_note("{" + std::string(parameter) + "}: " + verbatim(found.note));
  return found.id;
}

}  // namespace attnscope
