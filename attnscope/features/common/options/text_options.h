// The text that a command is given, and its tokens: a text, a file, or ids.
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

/// text, text_file, tokens.
Parameters text_parameters();
/// Whether there is one, or a shard of tokens.
bool names_a_text(const Arguments& arguments);
/// Ways to name tokens that exclude each other.
std::vector<Exclusion> text_exclusions(bool with_windows);

/// The text of `text` or `text_file`. Throws Error(usage) where neither is given, or it is empty.
std::string text_to_encode(const Arguments& arguments, const Session& session);
/// The ids of that parameter. Throws Error(usage) for what is none.
TokenIds parse_ids(const Arguments& arguments, const std::string& parameter);

/// Throws Error for a text that is empty or no UTF-8. `where`: the error's file, or its parameter.
void check_text(std::string_view text, ErrorParts where);

/// The tokenizer beside a model. Throws Error(usage) where it has none, which says to give ids with
/// the parameter `ids` instead.
Tokenizer tokenizer_of(const Model& model, std::string_view ids = "tokens");

/// How many tokens of a text stand for what its tokenizer has no token for.
struct UnknownTokens {
  std::int64_t unknown = 0, all = 0;

  /// With more than half of them, most rows and columns of a map are of one and the same embedding:
  /// what is measured says little of the text.
  bool are_most() const { return 2 * unknown > all; }
  std::string text() const;  // "46 of 49 tokens"
};
UnknownTokens unknown_tokens(const Tokenizer& tokenizer, std::span<const std::int64_t> ids);

/// A text and what its tokens are shown by.
struct TokenizedText {
  TokenIds tokens;
  std::optional<Tokenizer> tokenizer;  // that of the model; none: there is none, and ids were given
  std::string source;                  // "text", "tokens", or the file's name
  std::string note;                    // why the model's tokenizer cannot be read; usually empty
  std::string unknown_note = {};       // that it knows little of the text; usually empty
};

/// A note if the tokenizer knows little of a text, else empty.
std::string unknown_note(const Model& model, const UnknownTokens& unknown);

/// Whether a text is run with the tokens that its tokenizer puts around one.
bool adds_special_tokens(const Arguments& arguments);

/// The last part of a path.
std::string file_name_of(const std::string& path);

/// No text yet: what the tokens of a model are shown by, where it has a tokenizer.
TokenizedText shown_tokens_of(const Model& model);

/// One text for one model: the ids of `text` or `text_file`, with the tokenizer's special tokens,
/// or `tokens` as they are, for which a tokenizer is not needed. Throws Error(usage) where no text
/// is named.
TokenizedText tokenized_text(const Arguments& arguments, const Session& session,
                             const Model& model);

/// The token under which a model that sees texts both ways foretells; none of models that write,
/// and of those whose tokenizer has none.
std::optional<std::int64_t> mask_of(const Model& model);

// The text options of commands that read weights, for models with latents.

Parameters mla_text_parameters();
/// Those of texts, and that each of `others`, which asks for something else, excludes them.
std::vector<Exclusion> mla_text_exclusions(std::initializer_list<const char*> others);

/// Nothing where no text is named. Throws as check_mla_ranks().
std::optional<MlaText> mla_text_of(const Arguments& arguments, const Session& session,
                                   std::span<const Model> models, RowSink& notes);

}  // namespace attnscope
