// Converts tokenizers of checkpoints without tokenizer.json, like transformers: vocab.json with
// merges.txt (GPT2Tokenizer, RobertaTokenizer) and vocab.txt (BertTokenizer).
#pragma once

#include <string>

#include "attnscope/inputs/text/tokenizer_files.h"

namespace attnscope {

/// Returns the tokenizer.json equivalent to vocab.json and merges.txt. It is RoBERTa's type if
/// tokenizer_config.json says so, or if no type is specified and the vocabulary has "<mask>".
/// Throws Error(io) or Error(format).
std::string byte_level_json(const CheckpointFolder& folder, const TokenizerConfig& config);

/// Returns the tokenizer.json equivalent to vocab.txt. If tokenizer_config.json has no
/// `do_lower_case`, text is lower-cased unless the vocabulary has capital letters outside brackets.
std::string word_piece_json(const CheckpointFolder& folder, const TokenizerConfig& config);

}  // namespace attnscope
