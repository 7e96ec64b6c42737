// Which tokens a command runs: a text, a file, ids, or a shard of ids.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/analyses/foretelling.h"
#include "attnscope/commands/shared_parameters.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/tokens/tokenizer.h"

namespace attnscope {

struct WindowRequest;

/// text, text_file, tokens.
Parameters text_parameters();
/// How many windows of a file are run, and of how many tokens, where none are asked for. Such
/// windows are never longer than a model's context.
struct UsualWindows {
  std::int64_t sequences = 100, length = 100;
  std::int64_t shortest_line = 1;  // lines of fewer tokens are left out
};
/// Of commands that measure how well a model foretells, which need fewer and longer ones.
inline constexpr UsualWindows kForetoldWindows = {
    .sequences = 16, .length = 256, .shortest_line = 2};

/// token_file, sequences, length, sample, consecutive: windows of long texts.
Parameters window_parameters(const UsualWindows& usual = {});
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

/// No text yet: what the tokens of a model are shown by, where it has a tokenizer.
TokenizedText shown_tokens_of(const Model& model);

/// One text for one model: the ids of `text` or `text_file`, with the tokenizer's special tokens,
/// or `tokens` as they are, for which a tokenizer is not needed. Throws Error(usage) where no text
/// is named.
TokenizedText tokenized_text(const Arguments& arguments, const Session& session,
                             const Model& model);

/// The tokens that a model is run on.
struct TokenSequences {
  /// All of one length unless they are lines; of a decoder its targets.
  std::vector<TokenIds> of_model;
  Record parameters;      // what the report says of where they come from
  std::string note = {};  // that the model's tokenizer knows little of the text; usually empty
  std::shared_ptr<const Tokenizer> tokenizer = {};  // that made them; null: they were given as ids
  std::vector<TokenIds> sources = {};  // of a decoder: one for each of its targets; else none
  /// Images or sound, run in place of `of_model`, or of a decoder in place of `sources`.
  std::vector<Signal> signals = {};
  /// Which tokens of `of_model` count in losses and means; none: all.
  ScoredTokens scored = {};
};

/// Those of a text that is run as a whole.
TokenSequences whole_text(TokenIds ids, std::shared_ptr<const Tokenizer> tokenizer);

/// Throws Error(usage) where so many sequences are more than fit in memory.
void check_token_count(std::int64_t sequences, std::int64_t length);

/// The seed of random windows, or lines of a file where the request's length is 1; none of
/// consecutive ones. Where a text has more windows than are measured, random ones are the default:
/// neighbors are alike, so that the first ones say less of the text than their standard errors
/// claim. One window alone has no error and is the first.
std::optional<std::uint64_t> sample_of(const Arguments& arguments, const WindowRequest& request,
                                       std::int64_t tokens);

/// One text as a whole; of a file the windows that were asked for.
TokenSequences token_sequences(const Arguments& arguments, const Session& session,
                               const Model& model, const UsualWindows& usual = {});

/// token_sequences() of every model, as many and as long as commands take that measure how well
/// models foretell; what there is to say of them goes to `sink`. Throws Error(usage) where no text
/// is named.
ForetoldTexts foretold_texts(const Arguments& arguments, const Session& session,
                             const std::vector<Model>& models, RowSink& sink);

/// The token under which a model that sees texts both ways foretells; none of models that write,
/// and of those whose tokenizer has none.
std::optional<std::int64_t> mask_of(const Model& model);

}  // namespace attnscope
