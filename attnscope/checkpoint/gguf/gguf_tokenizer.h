// The tokenizer inside a GGUF file, as a tokenizer.json.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attnscope/checkpoint/gguf/gguf_file.h"

namespace attnscope {

/// A function that makes the text of a tokenizer.json equivalent to transformers' tokenizer of the
/// model. Null if the file has no tokenizer, or an unsupported one, which `notes` then says. Both
/// throw Error(format) for values of the wrong type.
std::function<std::string()> gguf_tokenizer(std::shared_ptr<const GgufFile> file,
                                            std::vector<std::string>& notes);

}  // namespace attnscope
