// Converts SentencePiece models of checkpoints without tokenizer.json, like transformers.
#pragma once

#include <optional>
#include <string>

#include "attnscope/inputs/text/tokenizer_files.h"

namespace attnscope {

/// Returns the name of the folder's SentencePiece model or tiktoken file: tokenizer.model, or a
/// name that one family uses. Nothing if there is none.
std::optional<std::string> find_vocabulary_file(const CheckpointFolder& folder);

/// Returns the tokenizer.json equivalent to the file. The class in tokenizer_config.json, or else
/// the model_type in config.json, decides how texts are split and which tokens are added. Throws
/// Error(io), Error(format), or Error(unsupported) for other classes than those of Llama, Gemma,
/// T5, XLM-RoBERTa, ALBERT and DeBERTa-v2.
std::string vocabulary_file_json(const CheckpointFolder& folder, const std::string& name,
                                 const TokenizerConfig& config);

}  // namespace attnscope
