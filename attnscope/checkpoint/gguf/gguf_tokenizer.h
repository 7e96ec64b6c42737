// The tokenizer inside a GGUF file, as a tokenizer.json.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attnscope/checkpoint/gguf/gguf_file.h"

namespace attnscope {

/// Makes the text of a tokenizer.json that does what transformers' tokenizer of the model does;
/// null where the file has no tokenizer, or one that is not read, which `notes` then says. Both
/// throw Error(format) for values of other types than they should have.
std::function<std::string()> gguf_tokenizer(std::shared_ptr<const GgufFile> file,
                                            std::vector<std::string>& notes);

}  // namespace attnscope
