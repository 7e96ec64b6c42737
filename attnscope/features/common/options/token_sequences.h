// Which tokens a command runs: a text as a whole, windows of a file or of a shard of ids, or lines.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/features/common/options/text_options.h"
#include "attnscope/features/common/scored_texts.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/inputs/text/token_windows.h"
#include "attnscope/inputs/text/tokenizer.h"

namespace attnscope {

/// How many windows of a file are run, and of how many tokens, where none are asked for. Such
/// windows are never longer than a model's context.
struct UsualWindows {
  std::int64_t sequences = 100, length = 100;
  std::int64_t shortest_line = 1;  // lines of fewer tokens are left out
};
/// Of commands that measure how well a model predicts: fewer and longer windows.
inline constexpr UsualWindows kScoredWindows = {.sequences = 16, .length = 256, .shortest_line = 2};

/// token_file, sequences, length, sample, consecutive: windows of long texts.
Parameters window_parameters(const UsualWindows& usual = {});

/// The tokens that a model is run on.
struct TokenSequences {
  /// All of one length unless they are lines; of a decoder its targets.
  std::vector<TokenIds> of_model;
  Record parameters;      // what the report says of where they come from
  std::string note = {};  // that the model's tokenizer knows little of the text; usually empty
  std::shared_ptr<const Tokenizer> tokenizer = {};  // that made them; null: they were given as ids
  std::vector<TokenIds> sources = {};  // of a decoder: one for each of its targets; else none
  /// Images or sound, run in place of `of_model`, or of a decoder in place of `sources`.
  std::vector<MediaInput> media_inputs = {};
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
ScoredTexts scored_texts(const Arguments& arguments, const Session& session,
                         const std::vector<Model>& models, RowSink& sink);

}  // namespace attnscope
