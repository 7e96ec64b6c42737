// Tokenizers of checkpoints older than tokenizer.json, written as one: what transformers makes of
// vocab.json with merges.txt (GPT2Tokenizer, RobertaTokenizer) and of vocab.txt (BertTokenizer).
#pragma once

#include <string>

#include "attnscope/tokens/tokenizer_config.h"

namespace attnscope {

/// The tokenizer.json that vocab.json and merges.txt mean. Of RoBERTa's kind where
/// tokenizer_config.json says so, or says nothing and the vocabulary has "<mask>". Throws Error(io)
/// or Error(format).
std::string byte_level_json(const CheckpointFolder& folder, const TokenizerConfig& config);

/// The tokenizer.json that vocab.txt means. Where tokenizer_config.json says nothing of
/// `do_lower_case`, text is lower-cased unless the vocabulary has capital letters outside brackets.
std::string word_piece_json(const CheckpointFolder& folder, const TokenizerConfig& config);

}  // namespace attnscope
