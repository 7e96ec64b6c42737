// Which tokens a command runs: a text, a file, ids, or a shard of ids.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/commands/common.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/tokenizer.h"

namespace attnscope {

/// text, text_file, tokens.
Parameters text_parameters();
/// token_file, sequences, length, sample: windows of long texts.
Parameters window_parameters();
/// Ways to name tokens that exclude each other.
std::vector<Exclusion> text_exclusions(bool with_windows);

/// The tokenizer beside a model. Throws Error(usage) where it has none, which says what to do.
Tokenizer tokenizer_of(const Model& model);

/// The ids of one text for one model: of `text` or `text_file`, with the tokenizer's special tokens
/// where `special`, or `tokens` as they are. Throws Error(usage) where no text is named.
TokenIds text_ids(const Arguments& arguments, const Model& model, bool special);

/// A text and what its tokens are shown by.
struct TokenizedText {
  TokenIds tokens;
  std::optional<Tokenizer> tokenizer;  // that of the model; none: there is none, and ids were given
  std::string source;                  // "text", "tokens", or the file's name
  std::string note;                    // why the model's tokenizer cannot be read; usually empty
};

/// As text_ids(), with the tokenizer's special tokens. Of `tokens` a tokenizer is not needed.
TokenizedText tokenized_text(const Arguments& arguments, const Model& model);

/// What the report says of where tokens come from.
struct TokenSequences {
  std::vector<TokenIds> of_model;  // all of one length
  Record parameters;
};

/// Throws Error(usage) where so many sequences are more than fit in memory.
void check_token_count(std::int64_t sequences, std::int64_t length);

/// One text as a whole; of a file the windows that were asked for, by default `usual_sequences` of
/// 100 tokens.
TokenSequences token_sequences(const Arguments& arguments, const Model& model,
                               std::int64_t usual_sequences = 100);

}  // namespace attnscope
