// `--chat`: the messages of a chat as input text, rendered by the model's chat template.
#pragma once

#include <string>
#include <vector>

#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/framework/command.h"
#include "attnscope/inputs/text/tokenizer.h"
#include "attnscope/model/model.h"

namespace attnscope {

/// chat, chat_template, no_generation_prompt, chat_date.
Parameters chat_parameters();

/// The chats of `chat`, rendered and encoded for a model. Remembers their texts in the session, so
/// that run_rows() can report them. Throws the errors of parse_chats(), find_chat_template() and
/// render_chat(), and Error(usage) for a date that does not exist.
std::vector<TokenIds> encoded_chats(const Arguments& arguments, const Session& session,
                                    const Model& model, const Tokenizer& tokenizer);

}  // namespace attnscope
