// The input text of a command and its tokens: a text, a file, or token ids.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/features/common/mla_latents.h"
#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/inputs/text/tokenizer.h"

namespace attnscope {

/// text, text_pair, text_file, tokens, token_types, no_special_tokens, and chat_parameters().
Parameters text_parameters();
/// The same without chats.
Parameters plain_text_parameters();
/// Whether the arguments name a text, token ids, or a shard of token ids.
bool names_a_text(const Arguments& arguments);
/// Options that name the input tokens and exclude each other.
std::vector<Exclusion> text_exclusions(bool with_windows);

/// The text of `text` or `text_file`; several texts become lines. Throws Error(usage) if neither is
/// given or it is empty.
std::string text_to_encode(const Arguments& arguments, const Session& session);
/// The sequences of `text` (with `text_pair`), `text_file`, `chat` or `tokens`, with token types.
/// Several texts are several sequences. `tokenizer`: null if token ids are given. Throws
/// Error(usage) for pairs and types that do not fit.
std::vector<TokenIds> encoded_texts(const Arguments& arguments, const Session& session,
                                    const Model& model, const Tokenizer* tokenizer);
/// The token ids of that parameter. Throws Error(usage) for anything that is not a token id.
TokenIds parse_ids(const Arguments& arguments, const std::string& parameter);

/// Throws Error if the text is empty or not UTF-8. `where`: the file or parameter to report.
void check_text(std::string_view text, ErrorParts where);

/// The tokenizer of a model. Throws Error(usage) if it has none, with a hint to pass token ids with
/// the parameter `ids`.
Tokenizer tokenizer_of(const Model& model, std::string_view ids = "tokens");

/// Whether `text_pair` is meant for the model: it has token types, or it is bidirectional and its
/// tokenizer adds tokens between the two texts. False if the tokenizer is missing or unreadable.
bool takes_pairs(const Model& model);

/// Number of tokens of a text that are the unknown token of its tokenizer.
struct UnknownTokens {
  std::int64_t unknown = 0, all = 0;

  /// True above one half: then most rows and columns of an attention map share one embedding, so
  /// the results say little about the text.
  bool are_most() const { return 2 * unknown > all; }
  std::string text() const;  // "46 of 49 tokens"
};
UnknownTokens unknown_tokens(const Tokenizer& tokenizer, std::span<const std::int64_t> ids);

/// The tokens of a text, and the tokenizer that shows them.
struct TokenizedText {
  TokenIds tokens;
  std::optional<Tokenizer> tokenizer;     // of the model; empty if it has none
  std::string source;                     // "text", "tokens", or the file's name
  std::string note;                       // why the model's tokenizer cannot be read; usually empty
  std::vector<TokenIds> more_texts = {};  // the other texts, if several are given
  std::string unknown_note = {};          // see unknown_note(); usually empty
};

/// A note if most tokens of all texts together are unknown to the tokenizer, else empty.
std::string unknown_note(const Model& model, const Tokenizer& tokenizer,
                         std::span<const TokenIds> texts);

/// Whether special tokens are added to a text.
bool adds_special_tokens(const Arguments& arguments);

/// "text", "tokens", or the name of the file.
std::string source_of_text(const Arguments& arguments);

/// The last component of a path.
std::string file_name_of(const std::string& path);

/// Without tokens: only the tokenizer of the model, if it has one.
TokenizedText shown_tokens_of(const Model& model);

/// The input of one model: `text` or `text_file`, tokenized with special tokens, or the ids of
/// `tokens` unchanged, which need no tokenizer. Throws Error(usage) if no text is given.
TokenizedText tokenized_text(const Arguments& arguments, const Session& session,
                             const Model& model);
/// The same for one or several texts.
TokenizedText tokenized_texts(const Arguments& arguments, const Session& session,
                              const Model& model);

/// The mask token of a bidirectional model. Empty for causal models, and if the tokenizer has no
/// mask token.
std::optional<std::int64_t> mask_of(const Model& model);

// Text options of commands that analyze weights, for MLA models.

Parameters mla_text_parameters();
/// text_exclusions(), and exclusions between the text options and each option in `others`.
std::vector<Exclusion> mla_text_exclusions(std::initializer_list<const char*> others);

/// Empty if no text is given. Throws the errors of check_mla_ranks().
std::optional<MlaText> mla_text_of(const Arguments& arguments, const Session& session,
                                   std::span<const Model> models, RowSink& notes);

}  // namespace attnscope
