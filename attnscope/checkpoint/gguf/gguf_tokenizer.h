// The tokenizer inside a GGUF file, as a tokenizer.json.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attnscope/checkpoint/gguf/gguf_file.h"

namespace attnscope {

/// The text of a tokenizer.json that does what transformers' tokenizer of the model does; nothing
/// where the file has no tokenizer, or one that is not read, which `notes` then says. Throws
/// Error(format) for values of other types than they should have.
std::optional<std::string> gguf_tokenizer(const GgufFile& file, std::vector<std::string>& notes);

}  // namespace attnscope
