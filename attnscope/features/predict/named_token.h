// A parameter that names one token, by its id or by its text.
#pragma once

#include <cstdint>
#include <optional>

#include "attnscope/features/framework/arguments.h"
#include "attnscope/inputs/text/tokenizer.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// The token that the parameter names; nothing if it is not given. `tokenizer`: null if token ids
/// were given. Throws Error(usage) for text that is not one token, and for other ids.
std::optional<std::int64_t> named_token(const Arguments& arguments, const char* parameter,
                                        const Model& model, const Tokenizer* tokenizer,
                                        RowSink& sink);

}  // namespace attnscope
